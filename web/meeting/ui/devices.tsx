/** Which microphone, camera and loudspeaker, how loud one is, and whether the network can carry a call. */
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Device } from "../call/devices.ts";
import { meterOf } from "../call/level.ts";
import { checkServers, checkService, connectivity, type Outcome } from "../page/connectivity.ts";
import { playTestTone } from "../page/sounds.ts";
import type { OwnMedia } from "../session/own-media.ts";
import type { TextKey } from "../texts/en.ts";
import { t } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { useVisit } from "./view.ts";

export const DEVICE_NAMES: Readonly<Record<Device["kind"], TextKey>> = {
  audio: "microphone",
  video: "camera",
  output: "loudspeaker",
};

export const foundOf = ({ devices }: OwnMedia, kind: Device["kind"]): readonly Device[] =>
  devices.value.filter((one) => one.kind === kind && one.deviceId !== "default");

/** Before a permission browsers name no device. */
export const labelOf = ({ kind, label }: Device, at: number): string =>
  label || t("numberedDevice", { kind: t(DEVICE_NAMES[kind]), number: at + 1 });

export const hasOutputChoice = ({ devices }: OwnMedia): boolean =>
  devices.value.some(({ kind }) => kind === "output") && "setSinkId" in HTMLMediaElement.prototype;

export function DeviceChoices({ isAudioOnly }: { readonly isAudioOnly: boolean }) {
  const { media } = useVisit();
  return (
    <div class="devices">
      <Choice kind="audio" />
      {!isAudioOnly && <Choice kind="video" />}
      {hasOutputChoice(media) && <Choice kind="output" />}
      <button type="button" class="test-speaker" onClick={() => playTestTone(media.chosen("output"))}>
        <Icon name="sound" />
        {t("testSpeaker")}
      </button>
    </div>
  );
}

function Choice({ kind }: { readonly kind: Device["kind"] }) {
  const { media } = useVisit();
  const id = useId();
  const found = foundOf(media, kind);
  // Without a permission browsers list no devices: that does not mean that there are none.
  const isMissing = media.problems.value.some((one) => one.kind === kind && one.reason === "none");
  const chosen = found.some(({ deviceId }) => deviceId === media.chosen(kind)) ? media.chosen(kind) : "";
  return (
    <div class="field">
      <label for={id}>{t(DEVICE_NAMES[kind])}</label>
      <select
        id={id}
        value={chosen}
        disabled={found.length === 0}
        onChange={(event) => void media.choose(kind, event.currentTarget.value)}
      >
        <option value="">{t(isMissing ? "noneFound" : "systemDefault")}</option>
        {found.map((one, at) => (
          <option key={one.deviceId} value={one.deviceId}>
            {labelOf(one, at)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A bar that follows the voice. It says nothing to screen readers: it changes many times per second. */
export function LevelMeter() {
  const { media } = useVisit();
  const bar = useRef<HTMLDivElement>(null);
  const track = media.tracks.value.audio;
  const isOn = media.isOn.value.audio;
  useEffect(() => {
    const show = (level: number): void => bar.current?.style.setProperty("--level", level.toFixed(2));
    show(0);
    return track && isOn ? meterOf(track, show) : undefined;
  }, [track, isOn]);
  return (
    <div class="meter" title={t("microphoneLevel")} aria-hidden="true">
      <Icon name={isOn ? "microphone" : "microphoneOff"} />
      <div class="meter-bar" ref={bar} />
    </div>
  );
}

const OUTCOMES: Readonly<Record<Outcome, TextKey>> = {
  running: "checkRunning",
  ok: "checkOk",
  failed: "checkFailed",
  none: "checkNone",
};

export function ConnectionCheck() {
  const { session, reach } = useVisit();
  const isAsked = useSignal(0);
  const servers = session.iceServers.value;
  useEffect(() => {
    void checkService(reach);
    void checkServers(servers);
  }, [isAsked.value, servers]);
  const { service, stun, turn } = connectivity.value;
  const hasFailed = [service, stun, turn].includes("failed");
  return (
    <section class="check" aria-label={t("connectionCheck")}>
      <ul aria-live="polite">
        <Line name="checkService" outcome={service} />
        <Line name="checkStun" outcome={stun} />
        <Line name="checkTurn" outcome={turn} />
      </ul>
      {hasFailed && (
        <p class="small">
          {t("checkFailedHint")}{" "}
          <button type="button" class="small" onClick={() => isAsked.value++}>
            {t("tryAgain")}
          </button>
        </p>
      )}
    </section>
  );
}

function Line({ name, outcome }: { readonly name: TextKey; readonly outcome: Outcome }) {
  const tone = outcome === "ok" ? "good" : outcome === "failed" ? "bad" : "muted";
  return (
    <li>
      <span>{t(name)}</span>
      <span class={`check-outcome ${tone}`}>
        {outcome === "ok" && <Icon name="check" />}
        {outcome === "failed" && <Icon name="cross" />}
        {t(OUTCOMES[outcome])}
      </span>
    </li>
  );
}
