/** Backups: whether they are made and succeed, those that are kept, and how to set them up. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { PageParameters } from "../../address/router.ts";
import type { BackupMaking, Backups as State } from "../../api/backup-types.ts";
import { post } from "../../api/client.ts";
import { mayChange } from "../../api/session.ts";
import { useLive } from "../../live/live.ts";
import { bytes, duration, percent } from "../../text/format.ts";
import { Bar } from "../../ui/bar.tsx";
import { messageOf, Notice, toast } from "../../ui/notice.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Badge, Name, Time } from "../../ui/values.tsx";
import { BackupList } from "./backup-list.tsx";
import { BackupSetup } from "./backup-setup.tsx";

const REFRESH_MS = 2000;
const PATH = "/backups";

export function Backups(_: { readonly at: PageParameters }) {
  const { data, error, reload } = useLive<State>(PATH, { everyMs: REFRESH_MS });
  return (
    <Page
      title="Backups"
      intro="Each backup is a copy of everything that the service keeps, as it was at one moment."
      actions={data?.target && mayChange.value && <BackUpNow state={data} reload={reload} />}
      isReady={data !== undefined}
      error={error}
    >
      {data && (
        <>
          <Warnings of={data} />
          {data.target ? <Status of={data} target={data.target} /> : <BackupSetup state={data} />}
          {data.target && <BackupList state={data} path={PATH} reload={reload} />}
          {data.target && data.everySeconds === null && <BackupSetup state={data} />}
        </>
      )}
    </Page>
  );
}

function BackUpNow({ state, reload }: { readonly state: State; readonly reload: () => Promise<void> }) {
  const isAsked = useSignal(false);
  const start = async (): Promise<void> => {
    isAsked.value = true;
    try {
      await post(PATH);
      await reload();
      toast("The backup has started.");
    } catch (error) {
      toast(messageOf(error), "bad");
    }
    isAsked.value = false;
  };
  return (
    <button type="button" class="primary" disabled={isAsked.value || state.making !== null} onClick={start}>
      Back up now
    </button>
  );
}

/** What is wrong, and what to do about it. */
function Warnings({ of: state }: { readonly of: State }) {
  const { failures, lastFailure, health, notRemoved, problem, target, lastSuccess, data } = state;
  const isLost = lastSuccess?.name && problem === null && data?.every(({ name }) => name !== lastSuccess.name);
  const found: ComponentChildren[] = [
    failures > 0 && lastFailure && (
      <Notice kind="bad">
        The last backup failed <Time at={lastFailure.at} />
        {lastFailure.why === null ? ". The log says why." : `: ${sentence(lastFailure.why)}`}
        {health !== null && " The service tries again every few minutes."}
      </Notice>
    ),
    health === "late" && (
      <Notice kind="bad">No backup has succeeded for more than twice the scheduled interval.</Notice>
    ),
    problem !== null && <Notice kind="bad">The backups cannot be listed: {sentence(problem)}</Notice>,
    isLost && (
      <Notice kind="warn">The last backup is not in the list: it was deleted, or its volume is not mounted.</Notice>
    ),
    notRemoved !== null && <Notice kind="warn">Old backups could not be deleted: {sentence(notRemoved)}</Notice>,
    target?.isInDataFolder && (
      <Notice kind="warn">
        Backups are in the data folder: if its disk fails, they are lost too. Set <code>PARLEY_BACKUP_TO</code> to
        another disk or a bucket.
      </Notice>
    ),
    lastSuccess !== null && lastSuccess.missing > 0 && (
      <Notice kind="warn">
        {lastSuccess.missing === 1 ? "1 recording has" : `${lastSuccess.missing} recordings have`} no file in the
        storage: the last backup does not contain {lastSuccess.missing === 1 ? "it" : "them"}.
      </Notice>
    ),
  ];
  return <div aria-live="polite">{found}</div>;
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

const HEALTH = {
  ok: ["good", "ok"],
  failed: ["bad", "failed"],
  late: ["bad", "late"],
} as const;

interface StatusProps {
  readonly of: State;
  readonly target: NonNullable<State["target"]>;
}

function Status({ of: state, target }: StatusProps) {
  const { lastSuccess, lastSent, everySeconds, nextAt, health, making, isEncrypted } = state;
  const [kind, text] = health ? HEALTH[health] : (["", "not scheduled"] as const);
  const facts: readonly (readonly [name: string, value: ComponentChildren])[] = [
    [
      "Last backup",
      <>
        <Time at={lastSuccess?.at} />
        {lastSuccess &&
          `, ${bytes(lastSuccess.bytes)} in ${lastSuccess.seconds < 1 ? "less than a second" : duration(lastSuccess.seconds)}`}
      </>,
    ],
    [
      "Schedule",
      everySeconds === null ? (
        "none: PARLEY_BACKUP_EVERY is not set"
      ) : (
        <>
          every {duration(everySeconds)}, next <Time at={nextAt} />
        </>
      ),
    ],
    ["Place", target.place === null ? `a ${target.kind}` : <Name>{target.place}</Name>],
    ["Keeps", `the last ${state.keep}`],
    ["Encryption", isEncrypted ? "with PARLEY_BACKUP_KEY" : "none: PARLEY_BACKUP_KEY is not set"],
    ["Contains", contentsOf(state)],
    ...(lastSent === null ? [] : [["Last by command", <Time key="sent" at={lastSent} />] as const]),
  ];
  return (
    <Card title="Status" aside={<Badge kind={kind}>{text}</Badge>}>
      {making && <Making of={making} />}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

const contentsOf = ({ hasDatabase, hasRecordings }: State): string => {
  const recordings = hasRecordings ? "recordings" : "the list of recordings without their files";
  return hasDatabase
    ? `applications, keys, rooms, meetings, messages, ${recordings}`
    : `${recordings}; back up PostgreSQL with pg_dump`;
};

function Making({ of: { since, isHere, bytes: done, total } }: { readonly of: BackupMaking }) {
  const share = done !== null && total ? Math.min(1, done / total) : 0;
  return (
    <div class="making">
      <p>
        <span role="status">{isHere ? "A backup is being created" : "Another node is creating a backup"}</span> (started{" "}
        <Time at={since} />)
        {done !== null && total ? `: ${bytes(done)} of about ${bytes(total)}, ${percent(share)}` : ""}.
      </p>
      <Bar share={share} />
    </div>
  );
}
