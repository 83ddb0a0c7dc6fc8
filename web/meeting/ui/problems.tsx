/** Why a device cannot be used, and what to do. */
import type { DeviceReason } from "../call/devices.ts";
import type { DeviceProblem } from "../own-media.ts";
import type { TextKey } from "../texts/en.ts";
import { t } from "../texts/texts.ts";
import { useMeeting } from "./view.ts";

const TEXTS: Readonly<Record<DeviceReason, TextKey>> = {
  denied: "deviceDenied",
  none: "deviceMissing",
  busy: "deviceBusy",
  unsupported: "deviceMissing",
  failed: "deviceBusy",
};

const DEVICES = { audio: "aMicrophone", video: "aCamera", screen: "aScreen" } as const;

export function DeviceProblems() {
  const { media } = useMeeting();
  return (
    <div role="alert" class="problems">
      {media.problems.value.map((problem) => (
        <Problem key={problem.kind} {...problem} />
      ))}
    </div>
  );
}

function Problem({ kind, reason }: DeviceProblem) {
  const { media } = useMeeting();
  return (
    <p class="notice warn">
      <span>{t(TEXTS[reason], { device: t(DEVICES[kind]) })}</span>
      {kind !== "screen" && (
        <button type="button" class="small" onClick={() => void media.turnOn(kind)}>
          {t("tryAgain")}
        </button>
      )}
    </p>
  );
}
