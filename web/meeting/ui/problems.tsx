/** Why a device cannot be used, and what to do. */
import type { Kind } from "../call/contract.ts";
import type { DeviceReason } from "../call/devices.ts";
import type { DeviceProblem } from "../own-media.ts";
import type { TextKey } from "../texts/en.ts";
import { listed, t } from "../texts/texts.ts";
import { useMeeting } from "./view.ts";

const TEXTS: Readonly<Record<DeviceReason, TextKey>> = {
  denied: "deviceDenied",
  none: "deviceMissing",
  busy: "deviceBusy",
  unsupported: "deviceMissing",
  failed: "deviceBusy",
};

const DEVICES = { audio: "aMicrophone", video: "aCamera", screen: "aScreen" } as const;

interface Problem {
  readonly kinds: readonly Kind[];
  readonly reason: DeviceReason;
}

/** Browsers ask once for microphone and camera: a refusal is one problem. On a phone, two would push the button to enter out of sight. */
function problemsOf(problems: readonly DeviceProblem[]): readonly Problem[] {
  const denied = problems.filter(({ reason }) => reason === "denied").map(({ kind }) => kind);
  const others = problems.filter(({ reason }) => reason !== "denied");
  return [
    ...(denied.length > 0 ? [{ kinds: denied, reason: "denied" as const }] : []),
    ...others.map(({ kind, reason }) => ({ kinds: [kind], reason })),
  ];
}

export function DeviceProblems() {
  const { media } = useMeeting();
  return (
    <div role="alert" class="problems">
      {problemsOf(media.problems.value).map((problem) => (
        <ProblemNotice key={problem.kinds.join()} {...problem} />
      ))}
    </div>
  );
}

function ProblemNotice({ kinds, reason }: Problem) {
  const { media } = useMeeting();
  const device = listed(kinds.map((kind) => t(DEVICES[kind])));
  return (
    <p class="notice warn">
      <span>{t(TEXTS[reason], { device })}</span>
      {!kinds.includes("screen") && (
        <button type="button" class="small" onClick={() => void Promise.all(kinds.map((kind) => media.turnOn(kind)))}>
          {t("tryAgain")}
        </button>
      )}
    </p>
  );
}
