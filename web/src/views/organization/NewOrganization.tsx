import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { refreshMemberships, useCreateOrganization } from "../../api/organization";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";

interface Props {
  onClose: () => void;
  /** Switches to it. */
  onCreated: (id: string) => void;
}

export default function NewOrganization({ onClose, onCreated }: Props) {
  const t = useText();
  const { route } = useLocation();
  const create = useCreateOrganization();
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [problem, rest] = splitProblem(create.error, ["name", "description"]);

  const enter = async (id: string, called: string) => {
    // A switch to an organization that the session does not know yet would lead back to the default one.
    await refreshMemberships();
    tell(t.organization.created(called));
    onClose();
    route("/organization");
    onCreated(id);
  };
  return (
    <Confirm
      title={t.organization.create}
      action={t.organization.createAction}
      busy={create.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() => create.mutate({ name, description }, { onSuccess: (made) => void enter(made.id, made.name) })}
    >
      <p class="muted">{t.organization.createText}</p>
      <TextField
        label={t.organization.name}
        required
        maxLength={100}
        autocomplete="off"
        value={name}
        onValue={setName}
        problem={problem("name")}
      />
      <TextField
        label={t.organization.description}
        optional
        maxLength={500}
        autocomplete="off"
        value={description}
        onValue={setDescription}
        problem={problem("description")}
      />
    </Confirm>
  );
}
