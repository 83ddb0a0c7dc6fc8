/** Who is here and who waits. Admins let in, mute and remove. */
import { announce } from "../page/announce.ts";
import type { Act } from "../page/api.ts";
import { vouchedName } from "../page/door.ts";
import { hueOf, initials } from "../page/names.ts";
import type { Person } from "../room/contract.ts";
import { refusedAct } from "../session/refusals.ts";
import type { TextKey } from "../texts/en.ts";
import { counted, t, timeOfDay } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { SidePanel } from "./panel.tsx";
import { dialog, panel, removedNames, useVisit } from "./view.ts";

export function PeoplePanel() {
  const { session, media, recording } = useVisit();
  const me = session.me.value;
  const mine: Person = {
    ...me,
    isLost: false,
    state: { ...media.isOn.value, hand: session.isHandUp.value, recording: recording.own.isRunning.value },
  };
  const people = session.people.value;
  return (
    <SidePanel title={t("people")}>
      <div class="panel-body">
        {session.queue.value.length > 0 && (
          <section>
            <h3>{t("lobbyWaits")}</h3>
            <Queue />
          </section>
        )}
        <ul class="people">
          <PersonRow person={mine} isMe />
          {people.map((person) => (
            <PersonRow key={person.participantSession} person={person} isMe={false} />
          ))}
        </ul>
        {me.isAdmin && people.length > 0 && <ForAll />}
        {session.room.value.showInviteBox && (
          <button type="button" class="wide" onClick={() => (dialog.value = "invite")}>
            <Icon name="invite" />
            {t("invite")}
          </button>
        )}
      </div>
    </SidePanel>
  );
}

function PersonRow({ person, isMe }: { readonly person: Person; readonly isMe: boolean }) {
  const { session } = useVisit();
  const act = useAct();
  const { participantSession, name, isAdmin, isGuest, isLost, state } = person;
  const mayManage = session.me.value.isAdmin && !isMe;
  // Names of access tokens stay. A host whose token has none has typed its own.
  const door = session.door.value;
  const hasTypedName = isGuest || (isMe && isAdmin && door !== undefined && vouchedName(door) === undefined);
  const mayRename = hasTypedName && (isMe || mayManage);
  return (
    <li class="person">
      <span class={`avatar hue-${hueOf(participantSession)}`} aria-hidden="true">
        {initials(name)}
      </span>
      <span class="person-name">
        <bdi title={name}>{name}</bdi>
        <span class="person-marks muted small">
          {isMe && <span>{t("you")}</span>}
          {isAdmin ? <span>{t("host")}</span> : isGuest && <span title={t("guestMeaning")}>{t("guest")}</span>}
          {state.recording && session.recording.value && <span class="bad">{t("isRecorded")}</span>}
          {isLost && <span class="warn">{t("isAway")}</span>}
        </span>
      </span>
      {state.hand && (
        <span class="warn" title={t("hasHand")}>
          <Icon name="hand" />
          <span class="hidden-text">{t("hasHand")}</span>
        </span>
      )}
      {/* With keys: otherwise one button would become the other when the microphone is turned on, under a finger that is about to press. */}
      {mayManage && state.audio ? (
        <button
          key="mute"
          type="button"
          class="quiet icon-button"
          aria-label={t("muteNamed", { name })}
          title={t("muteNamed", { name })}
          onClick={() => act({ do: "mute", participantSession })}
        >
          <Icon name="microphone" />
        </button>
      ) : (
        !state.audio && (
          <span class="person-sign muted" title={t("isMuted")}>
            <Icon name="microphoneOff" />
            <span class="hidden-text">{t("isMuted")}</span>
          </span>
        )
      )}
      {mayRename && (
        <button
          key="rename"
          type="button"
          class="quiet icon-button"
          aria-label={t("renameNamed", { name })}
          title={t("renameNamed", { name })}
          onClick={() => (dialog.value = { rename: participantSession, name })}
        >
          <Icon name="edit" />
        </button>
      )}
      {mayManage && (
        <button
          key="remove"
          type="button"
          class="quiet icon-button"
          aria-label={t("removeNamed", { name })}
          title={t("removeNamed", { name })}
          onClick={() => (dialog.value = { remove: participantSession, name, isGuest })}
        >
          <Icon name="close" />
        </button>
      )}
    </li>
  );
}

function ForAll() {
  const { session } = useVisit();
  const act = useAct();
  const isHandUp = session.isHandUp.value || session.people.value.some(({ state }) => state.hand);
  return (
    <div class="for-all">
      <button type="button" onClick={() => act({ do: "muteAll", kind: "audio" }, "allMuted")}>
        <Icon name="microphoneOff" />
        {t("muteAll")}
      </button>
      <button type="button" disabled={!isHandUp} onClick={() => act({ do: "lowerHands" })}>
        <Icon name="hand" />
        {t("lowerHands")}
      </button>
    </div>
  );
}

/** Runs an act of an admin; a refusal is shown. */
function useAct(): (act: Act, done?: TextKey) => void {
  const visit = useVisit();
  return (act, done) => {
    visit.act(act).then(
      () => done && announce(t(done)),
      (error: unknown) => {
        const text = refusedAct(error);
        if (text) announce(t(text));
      },
    );
  };
}

function Queue() {
  const { session } = useVisit();
  return (
    <ul class="people">
      {session.queue.value.map(({ waitId, name, since }) => (
        <li key={waitId} class="person">
          <span class="person-name">
            <bdi title={name}>{name}</bdi>
            <span class="person-marks muted small">{timeOfDay(since)}</span>
            <RemovedBefore name={name} />
          </span>
          <Answers waitId={waitId} name={name} />
        </li>
      ))}
    </ul>
  );
}

function Answers({ waitId, name }: { readonly waitId: string; readonly name: string }) {
  const act = useAct();
  return (
    <span class="answers">
      <button
        type="button"
        class="primary small"
        aria-label={t("letInNamed", { name })}
        onClick={() => act({ do: "admit", waitId })}
      >
        {t("letIn")}
      </button>
      <button
        type="button"
        class="small"
        aria-label={t("declineNamed", { name })}
        onClick={() => act({ do: "decline", waitId })}
      >
        {t("decline")}
      </button>
    </span>
  );
}

function RemovedBefore({ name }: { readonly name: string }) {
  return removedNames.value.includes(name) ? <span class="warn small">{t("removedBefore")}</span> : null;
}

/** Above the stage, while the list of people is closed. */
export function LobbyCard() {
  const { session } = useVisit();
  const queue = session.queue.value;
  const [first] = queue;
  if (!first || panel.value === "people") return null;
  return (
    <section class="lobby-card" aria-label={t("lobbyWaits")}>
      <p>
        {t("lobbyAsks", { name: first.name })} <RemovedBefore name={first.name} />
      </p>
      <Answers key={first.waitId} waitId={first.waitId} name={first.name} />
      {queue.length > 1 && (
        <button type="button" class="quiet small" onClick={() => (panel.value = "people")}>
          {counted(queue.length, "waitingOne", "waitingOther")} · {t("showAllWaiting")}
        </button>
      )}
    </section>
  );
}
