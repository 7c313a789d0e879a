import { useState } from "preact/hooks";
import { type Preference, usePreferences, useSavePreference, useSmtp } from "../../api/notifications";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Problem, ProblemText } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { bodyFor, type Choice, choiceOf, isComplete } from "./choice";
import { EventChoice } from "./EventChoice";
import { EVENTS, neededFor } from "./events";
import { Told } from "./Told";
import "./notifications.css";

/** What the user gets by mail from the organization that is open. */
export default function OwnMail() {
  const t = useText();
  const { organizationName, membership } = useSession();
  const { data, error, refetch } = usePreferences();
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <section class="card stack">
      <h2 class="break">{t.notifications.ownTitle(organizationName)}</h2>
      <ByWhichServer />
      <Told of={data.email} />
      <Form key={membership.organization_id} stored={data.email} />
    </section>
  );
}

/** Without a mail server no mail comes. Only admins can see whether there is one. */
function ByWhichServer() {
  const t = useText().notifications;
  const { may, user } = useSession();
  const { data } = useSmtp(may("smtp:read"));
  if (data === null || data?.is_active === false) {
    return (
      <p class="notice warn">
        <span>
          {t.ownNoServer} <a href="/organization/notifications">{t.toChannels}</a>
        </span>
      </p>
    );
  }
  return <p class="muted">{t.ownHint(user.email)}</p>;
}

function Form({ stored }: { stored: Preference }) {
  const t = useText();
  const { may } = useSession();
  const save = useSavePreference();
  const [draft, setDraft] = useState<Choice | null>(null);
  const [isRefused, setRefused] = useState(false);
  const choice = draft ?? choiceOf(stored);
  const offered = EVENTS.filter((name) => {
    const needed = neededFor(name);
    return !needed || may(needed);
  });
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        setRefused(!isComplete(choice));
        if (!isComplete(choice)) return;
        save.mutate(bodyFor("email", choice), {
          onSuccess: () => {
            setDraft(null);
            tell(t.common.saved);
          },
        });
      }}
    >
      <EventChoice
        choice={choice}
        onChoice={setDraft}
        offered={offered}
        isIncomplete={isRefused && !isComplete(choice)}
      />
      <ProblemText error={save.error} />
      {draft && (
        <div class="row">
          <Button type="submit" kind="primary" busy={save.isPending}>
            {t.common.save}
          </Button>
          <Button
            onClick={() => {
              setDraft(null);
              setRefused(false);
              save.reset();
            }}
          >
            {t.settings.discard}
          </Button>
        </div>
      )}
    </form>
  );
}
