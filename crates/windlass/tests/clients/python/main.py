"""Registers, founds an organization, deploys and reads logs with the client that openapi-python-client generated.

python main.py SERVER REPOSITORY
"""

import sys
import time
from uuid import UUID

from windlass_client import AuthenticatedClient, Client
from windlass_client.api.auth import register
from windlass_client.api.deploy import get_deployment_by_id, get_logs_of_an_application, handle_deploy
from windlass_client.api.organizations import create_organization
from windlass_client.api.user import update_theme
from windlass_client.models import (
    BuildPack,
    CreateDeployment,
    CreateOrganization,
    DeploymentState,
    DeploymentStatus,
    ErrorCode,
    Failure,
    GetLogsOfAnApplicationStreamItem,
    LogStep,
    Register,
    UpdateTheme,
)

DEADLINE_SECONDS = 120


def data(answer):
    """The data of an answer, or an error that says what the server said."""
    if isinstance(answer, Failure):
        raise SystemExit(f"{answer.error}: {answer.message}")
    assert answer is not None, "an answer that the client does not know"
    return answer.data


def log_in(server: str) -> AuthenticatedClient:
    body = Register(email="python@example.org", password="correct horse battery", username="Python")
    token = data(register.sync(client=Client(base_url=server), body=body)).access_token
    return AuthenticatedClient(base_url=server, token=token)


def deploy(client: AuthenticatedClient, organization: UUID, repository: str):
    body = CreateDeployment(name="python", repository=repository, build_pack=BuildPack.DOCKERFILE)
    answer = handle_deploy.sync(
        client=client, body=body, x_organization_id=str(organization), idempotency_key="once"
    )
    application = data(answer)
    return application.id, application.deployments[0].id


def until(what: str, look):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise SystemExit(f"did not happen in time: {what}")
        time.sleep(0.1)
    return found


def is_deployed(client: AuthenticatedClient, organization: UUID, deployment: UUID) -> bool:
    record = data(get_deployment_by_id.sync(deployment, client=client, x_organization_id=str(organization)))
    assert isinstance(record.status, DeploymentStatus)
    if record.failure:
        raise SystemExit(f"not deployed: {record.failure} {record.reason}")
    return record.status.status is DeploymentState.DEPLOYED


def lines_to_the_end(client: AuthenticatedClient, organization: UUID, application: UUID):
    """The lines of a deployment, once the last one is stored: that is a moment after it says that it is deployed."""
    page = data(
        get_logs_of_an_application.sync(
            application,
            client=client,
            stream=[GetLogsOfAnApplicationStreamItem.WINDLASS],
            page_size=50,
            x_organization_id=str(organization),
        )
    )
    return page.logs if any(line.step is LogStep.SWITCH for line in page.logs) else None


def main(server: str, repository: str) -> None:
    client = log_in(server)
    organization = data(create_organization.sync(client=client, body=CreateOrganization(name="Python"))).id
    application, deployment = deploy(client, organization, repository)
    until("the deployment ends", lambda: is_deployed(client, organization, deployment))
    for line in until("the last line is stored", lambda: lines_to_the_end(client, organization, application)):
        print(f"{line.step}: {line.log}")
    refused = update_theme.sync(client=client, body=UpdateTheme(theme="Not A Theme"))
    assert isinstance(refused, Failure) and refused.error is ErrorCode.INVALID_REQUEST
    print(f"refused: {refused.error}")


main(*sys.argv[1:])
