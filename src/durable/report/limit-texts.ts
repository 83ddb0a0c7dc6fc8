/** Limits of the inventory as people read them: in general, or as one application has them. */
import {
  HISTORY_DEFAULT_BYTES,
  MEETINGS_KEPT_DEFAULT_DAYS,
  RECORDINGS_DEFAULT_BYTES,
  STREAMS_DEFAULT_BYTES,
} from "../../access/limits.ts";
import { HISTORY_MESSAGES_MAX, HISTORY_SECONDS_MAX } from "../../protocol/limits.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { AppField, BackedUp, Deletion, Limit } from "../inventory/entry.ts";
import type { PageName } from "../inventory/subjects.ts";
import { bytesText, daysText, timeText } from "../inventory/texts.ts";

export type AppLimits = Pick<AppRow, AppField>;

/** How something is changed: a command, a setting, or the page of the dashboard that can do it. */
export interface Change {
  readonly command?: string;
  readonly setting?: string;
  readonly page?: PageName;
}

/** What the texts depend on. */
export interface View {
  /** The value of a setting, by its name in the environment. */
  readonly setting: (name: string) => string;
  /** Absent: of the service in general. */
  readonly app?: (AppLimits & Pick<AppRow, "name">) | undefined;
}

interface FieldTexts {
  readonly inGeneral: string;
  readonly of: (app: AppLimits) => string;
  readonly change: { readonly command: (app: string) => string; readonly page: PageName };
}

/** As in src/access/keys/room-rules.ts. */
const IN_ROOMS = "chats of rooms 7 days";

const plan = (flag: string) => (app: string) => `parley apps plan ${app} --${flag}`;

const FIELDS: Readonly<Record<AppField, FieldTexts>> = {
  channelRules: {
    inGeneral: `by channel rule, at most ${timeText(HISTORY_SECONDS_MAX * 1000)} and ${HISTORY_MESSAGES_MAX.toLocaleString("en")} per channel; ${IN_ROOMS}`,
    of: ({ channelRules }) => rulesText(channelRules),
    change: {
      command: (app) => `parley apps rules ${app} --add 'chat/*' --messages 500 --seconds 7d`,
      page: "rules",
    },
  },
  maxHistoryBytes: {
    inGeneral: `${bytesText(HISTORY_DEFAULT_BYTES)} per application by default`,
    of: ({ maxHistoryBytes }) => bytesText(maxHistoryBytes),
    change: { command: plan("max-history-bytes N"), page: "rules" },
  },
  maxStreamBytes: {
    inGeneral: `${bytesText(STREAMS_DEFAULT_BYTES)} per application by default`,
    of: ({ maxStreamBytes }) => bytesText(maxStreamBytes),
    change: { command: plan("max-stream-bytes N"), page: "rules" },
  },
  meetingRetentionDays: {
    inGeneral: `${daysText(MEETINGS_KEPT_DEFAULT_DAYS)} after their end by default`,
    of: ({ meetingRetentionDays }) => `${daysText(meetingRetentionDays)} after their end`,
    change: { command: plan("meeting-retention-days N"), page: "meetings" },
  },
  retentionDays: {
    inGeneral: "until they are deleted, or for as many days as the application sets",
    of: ({ retentionDays }) =>
      retentionDays === null ? "until they are deleted" : `${daysText(retentionDays)} after they are complete`,
    change: { command: plan("retention-days N"), page: "recordings" },
  },
  maxRecordingBytesTotal: {
    inGeneral: `${bytesText(RECORDINGS_DEFAULT_BYTES)} per application by default, with uploads`,
    of: ({ maxRecordingBytesTotal }) => `${bytesText(maxRecordingBytesTotal)}, with uploads`,
    change: { command: plan("max-recording-bytes-total N"), page: "recordings" },
  },
};

/** An application may have 50 rules; its page has them all. */
const RULES_SHOWN = 3;

function rulesText(rules: AppLimits["channelRules"]): string {
  const kept = rules.flatMap(({ pattern, history }) =>
    history
      ? [`${pattern} ${timeText(history.seconds * 1000)} and ${history.messages.toLocaleString("en")} per channel`]
      : [],
  );
  const more = kept.length > RULES_SHOWN ? [`${kept.length - RULES_SHOWN} more rules`] : [];
  const shown = kept.length > 0 ? [...kept.slice(0, RULES_SHOWN), ...more] : ["no channel rule keeps any"];
  return [...shown, IN_ROOMS].join("; ");
}

export function limitText(limit: Limit, { setting, app }: View): string {
  if ("fixed" in limit) return limit.fixed;
  if ("grows" in limit) return limit.grows;
  if ("setting" in limit) return `${setting(limit.setting)} per ${limit.per}`;
  const field = FIELDS[limit.field];
  return app ? field.of(app) : field.inGeneral;
}

/** `APP` stands for the name of an application. */
export function changesOf(limits: readonly Limit[], app = "APP"): readonly Change[] {
  return limits.flatMap((limit): Change[] => {
    if ("setting" in limit) return [{ setting: limit.setting }];
    if (!("field" in limit)) return [];
    const { command, page } = FIELDS[limit.field].change;
    return [{ command: command(app), page }];
  });
}

export function backupText(backup: BackedUp): string {
  if (backup === "copied") return "yes";
  if (backup === "copied if asked") return "only if you ask for it";
  return `no: ${backup.leftBecause}`;
}

export function deletionText(deletion: Deletion): string {
  if (deletion === "at once") return "removed at once";
  if (deletion === "swept") return "removed within an hour";
  if (deletion === "none") return "not affected";
  return `kept ${deletion.kept}, because ${deletion.because}`;
}
