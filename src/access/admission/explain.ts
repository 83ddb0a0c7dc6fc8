/**
 * Why a connect or a frame is allowed or refused, check by check. The verdict comes from `admit` and `channelRefusal`, which decide about
 * real connects and frames too; here their answers are only described. Nothing given is kept, and no secret or token is repeated.
 */
import { duration } from "../../base/duration.ts";
import { type AppId, appOfSpace } from "../../base/ids.ts";
import { bitOf } from "../../protocol/actions.ts";
import {
  ATTEMPT_CHECKS,
  BLOCK_CHECK,
  CAPACITY_CHECK,
  type Check,
  FRAME_CHECKS,
  type FrameCheck,
  KEY_CHECKS,
  TOKEN_CHECKS,
} from "../checks.ts";
import { admit, type Grant, type KeyGrant, keyIdOf, Refusal } from "./admit.ts";
import { type Advice, type AdviceParts, connectAdvice, frameAdvice, type Question } from "./explain-advice.ts";
import { type ChannelRefusal, channelRefusal, covers, permissionsOf, permits } from "./permissions.ts";

/** What a node knows at this moment beyond keys and blocks. */
export interface Moment {
  readonly isDraining: boolean;
  readonly connectsPerMinute: number;
  /** Connections of an application on all nodes, and how many its plan allows; null: without a limit. */
  readonly connectionsOf: (app: AppId) => { readonly now: number; readonly max: number | null };
  readonly isQuotaUsedUp: (app: AppId) => boolean;
}

export interface ExplainedCheck extends Advice {
  readonly name: Check;
  readonly result: "passes" | "refuses" | "not reached";
}

export interface Explanation {
  readonly checks: readonly ExplainedCheck[];
  readonly allowed: boolean;
}

/** The check that refuses, and what to say about it. */
interface Failure extends Advice {
  readonly check: Check;
}

export function explain(question: Question, parts: AdviceParts, moment: Moment, nowMs: number): Explanation {
  const admitted = admit(connectOf(question), parts, nowMs);
  const names = [...connectChecks(question), ...frameChecks(question)];
  const failure = moment.isDraining
    ? { check: "drain" as const, ...DRAINING }
    : admitted instanceof Refusal
      ? { check: admitted.check, ...connectAdvice(admitted, question, parts, nowMs) }
      : (capacityFailure(admitted, moment) ?? frameFailure(admitted, question, moment));
  const passed =
    admitted instanceof Refusal
      ? {}
      : { ...remarksOn(admitted, question, nowMs), ...ruleRemark(admitted, question, parts) };
  const failedAt = failure ? names.indexOf(failure.check) : names.length;
  const checks = names.map((name, at): ExplainedCheck => {
    if (failure && at === failedAt) return { name, result: "refuses", ...adviceOf(failure) };
    if (at > failedAt) return { name, result: "not reached" };
    if (name === "connect rate") return { name, result: "not reached", why: rateRemark(moment.connectsPerMinute) };
    const why = passed[name];
    return { name, result: "passes", ...(why !== undefined && { why }) };
  });
  return { checks, allowed: failure === undefined };
}

const DRAINING: Advice = {
  why: "This node is shutting down and refuses all connects.",
  hint: "Connect again: another node will accept you, or this one after its restart.",
};

const rateRemark = (perMinute: number): string =>
  perMinute === 0
    ? "Connects per address are not limited."
    : `Depends on the client's address, which this check does not know: each address can connect ${perMinute} times per minute.`;

const adviceOf = ({ why, hint }: Failure): Advice => ({
  ...(why !== undefined && { why }),
  ...(hint !== undefined && { hint }),
});

/** The question as the request that a client would send. */
function connectOf({ key, token, origin }: Question): { query: string; origin: string | null } {
  const query = new URLSearchParams();
  if (key !== undefined) query.set("key", key);
  if (token !== undefined) query.set("token", token);
  return { query: query.toString(), origin: origin ?? null };
}

function connectChecks({ key, token }: Question): Check[] {
  const ofKey = token === undefined || key !== undefined ? KEY_CHECKS : [];
  const ofToken = key === undefined || token !== undefined ? [...TOKEN_CHECKS, BLOCK_CHECK] : [];
  return [...ATTEMPT_CHECKS, ...ofKey, ...(ofToken as Check[]), CAPACITY_CHECK];
}

/** A direct message has no channel, and only messages count against the quota. */
function frameChecks({ channel, action }: Question): FrameCheck[] {
  const hasChannel = channel !== undefined && action !== "send";
  const isMessage = action === "publish" || action === "send";
  const applies: Readonly<Record<FrameCheck, boolean>> = {
    "channel name": hasChannel,
    "reserved name": hasChannel,
    action: action !== undefined,
    channel: hasChannel,
    "message quota": isMessage,
  };
  return FRAME_CHECKS.filter((check) => applies[check]);
}

function capacityFailure({ spaceId }: Grant, { connectionsOf }: Moment): Failure | undefined {
  const { now, max } = connectionsOf(appOfSpace(spaceId));
  if (max === null || now < max) return undefined;
  return {
    check: CAPACITY_CHECK,
    why: `The application has ${now} connections and its plan allows ${max}, so the connection would be closed with 4010.`,
    hint: "Raise maxConcurrentConnections in the application's plan, or close connections.",
  };
}

const CHECK_OF: Readonly<Record<ChannelRefusal, FrameCheck>> = {
  invalid_channel: "channel name",
  channel_reserved: "reserved name",
  action_not_permitted: "action",
  channel_not_authorized: "channel",
};

function frameFailure(grant: Grant, question: Question, moment: Moment): Failure | undefined {
  const refusal = frameRefusal(grant, question);
  if (refusal) return { check: CHECK_OF[refusal], ...frameAdvice(refusal, grant, question) };
  const { action } = question;
  if ((action !== "publish" && action !== "send") || !moment.isQuotaUsedUp(appOfSpace(grant.spaceId))) return undefined;
  return {
    check: "message quota",
    why: "The application has used up its messages for this period.",
    hint: "Raise maxMessagesPerPeriod in the application's plan, or wait for the next period, which starts next month (UTC).",
  };
}

/** Every action, for a question that names none: then only the channel is checked. */
const ANY_ACTION = -1;

function frameRefusal(grant: Grant, { channel, action }: Question): ChannelRefusal | undefined {
  const permissions = permissionsOf(grant);
  const bit = action === undefined ? ANY_ACTION : bitOf(action);
  if (channel !== undefined && action !== "send") {
    const refusal = channelRefusal(channel, bit, permissions, false);
    // A key without any action may still cover the channel, and that is the question here.
    if (action !== undefined || refusal !== "action_not_permitted") return refusal;
    return covers(permissions, channel) ? undefined : "channel_not_authorized";
  }
  return action === undefined || permits(permissions, bit) ? undefined : "action_not_permitted";
}

const ROOM_REMARK =
  "It is a room token, signed by the service itself. The room also decides whether its holder may be inside now.";

const keyRemarks = ({ key, secretEndsMs }: KeyGrant, nowMs: number): Partial<Record<Check, string>> => ({
  "token key": `The key is ${key.id}.`,
  ...(secretEndsMs !== null && {
    signature: `It is signed with a previous secret, which stays valid for another ${duration(secretEndsMs - nowMs)}.`,
  }),
});

/** What is worth knowing about checks that an admitted connect has passed. */
function remarksOn(grant: Grant, { token, origin }: Question, nowMs: number): Partial<Record<Check, string>> {
  if (token === undefined)
    return {
      key: `${keyIdOf(grant)} is a live publishable key.`,
      ...(origin === undefined && { origin: "No origin given; only browsers send one." }),
    };
  const { peerId, expiresAtMs } = grant;
  return {
    ...(grant.seat ? { "token key": ROOM_REMARK } : keyRemarks(grant, nowMs)),
    ...(expiresAtMs !== null && { expiry: `It expires in ${duration(expiresAtMs - nowMs)}.` }),
    claims: `sub is ${JSON.stringify(peerId)}.`,
  };
}

/** A client that is allowed to subscribe may still wonder why there is no history. */
function ruleRemark(
  { spaceId }: Grant,
  { channel }: Question,
  { keyring }: AdviceParts,
): Partial<Record<Check, string>> {
  if (channel === undefined) return {};
  const rule = keyring.rulesOf(spaceId).ruleFor(channel);
  if (!rule) return { channel: "No channel rule matches this name, so its messages are not stored." };
  const { history } = rule;
  const kept = history
    ? `keeps ${history.messages} ${history.messages === 1 ? "message" : "messages"} for ${duration(history.seconds * 1000)}`
    : "keeps no messages";
  return { channel: `The channel rule ${rule.pattern} applies: it ${kept}.` };
}
