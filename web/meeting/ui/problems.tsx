/** Why a device cannot be used, and what to do. */
import type { Kind } from "../call/contract.ts";
import type { DeviceReason } from "../call/devices.ts";
import type { DeviceProblem } from "../session/own-media.ts";
import type { TextKey } from "../texts/en.ts";
import { listed, t } from "../texts/texts.ts";
import { useVisit } from "./view.ts";

const TEXTS: Readonly<Record<DeviceReason, TextKey>> = {
  denied: "deviceDenied",
  system: "deviceSystem",
  framed: "deviceFramed",
  none: "deviceMissing",
  busy: "deviceBusy",
  insecure: "deviceInsecure",
  unsupported: "deviceUnsupported",
  failed: "deviceFailed",
};

/** These are about the page and not about one device: both devices have one notice. On a phone, two would push the button to enter out of sight. */
const OF_THE_PAGE: readonly DeviceReason[] = ["denied", "system", "framed", "insecure", "unsupported"];
/** Nothing changes by trying again. */
const FINAL: readonly DeviceReason[] = ["framed", "insecure", "unsupported"];

const DEVICES = { audio: "aMicrophone", video: "aCamera", screen: "aScreen" } as const;

interface Problem {
  readonly kinds: readonly Kind[];
  readonly reason: DeviceReason;
}

const ORDER: readonly Kind[] = ["audio", "video", "screen"];

function problemsOf(problems: readonly DeviceProblem[]): readonly Problem[] {
  const together = OF_THE_PAGE.map((reason) => {
    const kinds = ORDER.filter((kind) => problems.some((one) => one.kind === kind && one.reason === reason));
    return { kinds, reason };
  });
  // Always in this order: a device that is tried again keeps its place.
  const apart = ORDER.flatMap((kind) =>
    problems.filter((one) => one.kind === kind && !OF_THE_PAGE.includes(one.reason)),
  );
  return [
    ...together.filter(({ kinds }) => kinds.length > 0),
    ...apart.map(({ kind, reason }) => ({ kinds: [kind], reason })),
  ];
}

export function DeviceProblems() {
  const { media } = useVisit();
  return (
    <div role="alert" class="problems">
      {problemsOf(media.problems.value).map((problem) => (
        <ProblemNotice key={problem.kinds.join()} {...problem} />
      ))}
    </div>
  );
}

function ProblemNotice({ kinds, reason }: Problem) {
  const { media } = useVisit();
  const device = listed(kinds.map((kind) => t(DEVICES[kind])));
  return (
    <p class="notice warn">
      <span>{t(TEXTS[reason], { device })}</span>
      {!kinds.includes("screen") && !FINAL.includes(reason) && (
        <button type="button" class="small" onClick={() => void Promise.all(kinds.map((kind) => media.turnOn(kind)))}>
          {t("tryAgain")}
        </button>
      )}
    </p>
  );
}
