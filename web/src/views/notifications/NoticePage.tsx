import { useApplication } from "../../api/applications";
import { type Notice, type NoticeAttempt, useNotice } from "../../api/notifications";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Back } from "../../ui/Back";
import { Loading } from "../../ui/Empty";
import { Evidence } from "../../ui/Evidence";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { duration } from "../../ui/time";
import { NoticeBadge, Reason } from "./Notices";
import { canBeSentAgain, channelName } from "./notices";
import { SendAgain } from "./SendAgain";

/** One message to one destination, with every try to deliver it. */
export function NoticePage({ id }: { id: string }) {
  const t = useText();
  const mayOpen = useMay("webhook:update");
  const { data, error, refetch } = useNotice(id, mayOpen);
  const back = <Back href="/organization/notifications/log" label={t.notifications.log} />;
  if (!mayOpen) {
    return (
      <>
        {back}
        <p class="notice">{t.notifications.noticeViewer}</p>
      </>
    );
  }
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const { notice, attempts } = data;
  return (
    <>
      {back}
      <div class="row between">
        <div class="row">
          <h2 class="break">{notice.title}</h2>
          <span role="status">
            <NoticeBadge of={notice.state} />
          </span>
        </div>
        {canBeSentAgain(notice) && <SendAgain notice={notice} />}
      </div>
      {(notice.reason || notice.next_attempt_at) && (
        <p class={`notice ${notice.state === "failed" ? "bad" : ""}`}>
          <span>
            <Reason of={notice} />
          </span>
        </p>
      )}
      <section class="card stack">
        <h3>{t.deployment.facts}</h3>
        <Facts rows={facts(t, notice)} />
      </section>
      <section class="stack">
        <h3>{t.notifications.attempts}</h3>
        {attempts.length === 0 && (
          <p class="muted">{notice.carried_by ? t.notifications.noAttemptCarried : t.notifications.noAttempt}</p>
        )}
        <ol class="stack" aria-label={t.notifications.attempts}>
          {[...attempts].reverse().map((attempt) => (
            <Attempt key={attempt.number} of={attempt} />
          ))}
        </ol>
      </section>
    </>
  );
}

function facts(t: Text, notice: Notice): Parameters<typeof Facts>[0]["rows"] {
  const { application_id, carried_by, ended_at } = notice;
  return [
    [t.notifications.channel, channelName(t, notice.channel)],
    [t.notifications.recipient, notice.recipient],
    [t.notifications.event, notice.event && <code key="e">{notice.event}</code>],
    [t.notifications.application, application_id && <ApplicationLink key="a" id={application_id} />],
    [
      t.notifications.carriedBy,
      carried_by && (
        <a key="c" href={`/organization/notifications/${carried_by}`}>
          {t.notifications.toCarrier}
        </a>
      ),
    ],
    [t.notifications.carriesTitle, notice.carries > 0 && String(notice.carries)],
    [t.notifications.when, <Time key="w" at={notice.created_at} />],
    [t.notifications.ended, ended_at && <Time key="n" at={ended_at} />],
    [t.notifications.id, <code key="i">{notice.id}</code>],
  ];
}

function ApplicationLink({ id }: { id: string }) {
  const t = useText().notifications;
  const { data, error } = useApplication(id);
  if (error && !data) return <span class="muted">{t.isGone}</span>;
  return <a href={`/applications/${id}`}>{data?.name ?? id}</a>;
}

function Attempt({ of }: { of: NoticeAttempt }) {
  const t = useText().notifications;
  return (
    <li class="card stack">
      <div class="row between">
        <span class={`state ${of.problem ? "bad" : "good"}`}>{of.problem ? t.notDelivered : t.delivered}</span>
        <span class="muted small">
          {t.attempt(of.number)} · <Time at={of.started_at} /> · {duration(of.milliseconds)}
        </span>
      </div>
      {(of.problem || of.status) && <p>{of.problem || t.answered(of.status ?? 0)}</p>}
      {of.destination && <code class="break muted">{of.destination}</code>}
      {of.answer && <Evidence label={`${t.answer}: ${t.attempt(of.number)}`} text={of.answer} />}
    </li>
  );
}
