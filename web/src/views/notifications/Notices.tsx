import { useLocation } from "preact-iso";
import { useApplications } from "../../api/applications";
import {
  type Notice,
  type NoticeChannel,
  type NoticeFilter,
  type NoticeState,
  useNotices,
} from "../../api/notifications";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Back } from "../../ui/Back";
import { Button, ButtonLink } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { FilterChoice, Filters } from "../../ui/Filter";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import {
  CHANNELS,
  canBeSentAgain,
  channelName,
  isFiltered,
  noticesAddress,
  readFilter,
  STATE_TONES,
  STATES,
} from "./notices";
import { SendAgain } from "./SendAgain";

/** What was told, newest first, and what became of it. */
export function Notices() {
  const t = useText();
  const { query, route } = useLocation();
  const mayOpen = useMay("webhook:update");
  const filter = readFilter(query);
  const { data, error, refetch } = useNotices(filter);
  const clear = () => route(noticesAddress({}), true);
  const isNone = data?.notices.length === 0;
  return (
    <>
      <Back href="/organization/notifications" label={t.notifications.channels} />
      <section class="stack">
        <h2>{t.notifications.log}</h2>
        {(!isNone || isFiltered(filter)) && (
          <NoticeFilters filter={filter} onFilter={(next) => route(noticesAddress(next), true)} />
        )}
        {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
        {!data && !error && <Loading />}
        {isNone && (
          <Empty title={isFiltered(filter) ? t.notifications.nothingFound : t.notifications.nothingTold}>
            {isFiltered(filter) ? (
              <Button onClick={clear}>{t.common.clearFilters}</Button>
            ) : (
              <p>{t.notifications.nothingToldText}</p>
            )}
          </Empty>
        )}
        {data && !isNone && (
          <Table
            label={t.notifications.log}
            columns={columns(t, mayOpen)}
            rows={data.notices}
            rowKey={({ id }) => id}
          />
        )}
        {(filter.before || data?.next_cursor) && (
          <nav class="row" aria-label={t.notifications.pages}>
            {filter.before && (
              <ButtonLink href={noticesAddress({ ...filter, before: "" })}>{t.common.newest}</ButtonLink>
            )}
            {data?.next_cursor && (
              <ButtonLink href={noticesAddress({ ...filter, before: data.next_cursor })}>{t.common.older}</ButtonLink>
            )}
          </nav>
        )}
      </section>
    </>
  );
}

function NoticeFilters({ filter, onFilter }: { filter: NoticeFilter; onFilter: (filter: NoticeFilter) => void }) {
  const t = useText();
  const { data } = useApplications({});
  const named = data?.applications.map(({ id, name }) => [id, name] as const) ?? [];
  const chosen = filter.application_id ?? "";
  const isKnown = !chosen || named.some(([id]) => id === chosen);
  // What is chosen leads back to the newest.
  const change = (part: { [K in keyof NoticeFilter]?: string }) =>
    onFilter({ ...filter, ...part, before: "" } as NoticeFilter);
  return (
    <Filters onClear={isFiltered(filter) && (() => onFilter({}))}>
      <FilterChoice
        label={t.notifications.channel}
        value={filter.channel ?? ""}
        options={CHANNELS.map((name) => [name, channelName(t, name)])}
        onValue={(channel) => change({ channel: channel as NoticeChannel })}
      />
      <FilterChoice
        label={t.notifications.state}
        value={filter.state ?? ""}
        options={STATES.map((name) => [name, t.notifications.states[name]])}
        onValue={(state) => change({ state: state as NoticeState })}
      />
      <FilterChoice
        label={t.notifications.application}
        value={chosen}
        options={isKnown ? named : [[chosen, t.notifications.thisApplication], ...named]}
        onValue={(application_id) => change({ application_id })}
      />
    </Filters>
  );
}

function columns(t: Text, mayOpen: boolean): Column<Notice>[] {
  return [
    {
      title: t.notifications.message,
      isName: true,
      cell: ({ id, title, carries }) => (
        <span class="row">
          {mayOpen ? (
            <a class="row-link" href={`/organization/notifications/${id}`}>
              {title}
            </a>
          ) : (
            title
          )}
          {carries > 0 && <span class="tag">{t.notifications.carries(carries)}</span>}
        </span>
      ),
    },
    { title: t.notifications.state, bare: true, cell: ({ state }) => <NoticeBadge of={state} /> },
    {
      title: t.notifications.channel,
      bare: true,
      cell: ({ channel, recipient }) => recipient || channelName(t, channel),
    },
    { title: t.notifications.reason, bare: true, cell: (notice) => <Reason of={notice} /> },
    { title: t.notifications.attempts, numeric: true, minor: true, cell: ({ attempts }) => attempts },
    { title: t.notifications.when, bare: true, cell: ({ created_at }) => <Time at={created_at} /> },
    ...(mayOpen
      ? [
          {
            title: t.common.actions,
            hideTitle: true,
            numeric: true,
            cell: (notice: Notice) =>
              canBeSentAgain(notice) && (
                <span class="row row-actions">
                  <SendAgain notice={notice} isInList />
                </span>
              ),
          },
        ]
      : []),
  ];
}

export function NoticeBadge({ of }: { of: NoticeState }) {
  return <span class={`state ${STATE_TONES[of]}`}>{useText().notifications.states[of]}</span>;
}

/** Why it is in its state, and what comes next. */
export function Reason({ of }: { of: Notice }) {
  const t = useText().notifications;
  return (
    <>
      {of.reason}{" "}
      {of.next_attempt_at && (
        <span class="muted">
          {t.nextAttempt} <Time at={of.next_attempt_at} />
        </span>
      )}
    </>
  );
}
