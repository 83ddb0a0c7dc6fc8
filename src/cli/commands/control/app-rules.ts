/** `parley apps rules`: shows and changes the channel rules of an application. */
import { readFileSync } from "node:fs";
import { isObject, parseStrict } from "../../../protocol/json.ts";
import type { ChannelRule, StreamRule } from "../../../protocol/patterns/channel-rules.ts";
import { mayLose, shadowOf } from "../../../protocol/patterns/rule-changes.ts";
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { exactBytes } from "../../terminal/exact-bytes.ts";
import { table } from "../../terminal/output.ts";

interface AppWithRules {
  readonly name: string;
  /** Absent from servers of earlier versions. */
  readonly channelRules?: readonly ChannelRule[];
}

const CHANGES = ["set", "add", "remove"] as const;
/** Flags that describe the rule of --add. */
const OF_A_RULE = ["messages", "seconds", "stream-seconds", "stream-bytes", "grace", "at"] as const;

export async function rules(input: Input): Promise<CommandResult> {
  const change = changeOf(input);
  const server = controlPlane(input);
  const path = `/apps/${input.id(0, "the id or name of an application")}`;
  if (change === undefined) return shown(await server.get<AppWithRules>(path));
  const { name, channelRules: current = [] } = await server.get<AppWithRules>(path);
  const channelRules = change(current);
  if (mayLose(current, channelRules.filter(isRule)))
    await confirm(input, `change the rules of ${name} so that channels may lose stored messages`);
  return shown(await server.patch<AppWithRules>(path, { channelRules }));
}

/** The server checks what is in the result. */
type Change = (current: readonly ChannelRule[]) => readonly unknown[];

/** What is no rule is refused by the server. */
function isRule(value: unknown): value is Pick<ChannelRule, "pattern" | "history" | "stream"> {
  if (!isObject(value) || typeof value.pattern !== "string") return false;
  const { history } = value;
  if (history === undefined) return true;
  return isObject(history) && typeof history.messages === "number" && typeof history.seconds === "number";
}

/** Read before the first call, so that a wrong flag changes nothing. */
function changeOf(input: Input): Change | undefined {
  const [change, another] = CHANGES.filter((name) => input.isOn(name));
  if (another !== undefined) throw new UsageError(`--${change} and --${another} cannot be used together`);
  const ofARule = OF_A_RULE.find((name) => input.isOn(name));
  if (change !== "add" && ofARule !== undefined)
    throw new UsageError(`--${ofARule} describes a rule: name its pattern with --add`);
  if (change === undefined) return undefined;
  const value = input.required(change);
  if (change === "set") {
    const list = listIn(value);
    return () => list;
  }
  if (change === "remove") return (current) => without(value, current);
  const { rule, place } = ruleOf(value, input);
  return (current) => withRule(rule, place, current);
}

function ruleOf(pattern: string, input: Input): { rule: ChannelRule; place: number | undefined } {
  const messages = input.whole("messages");
  const seconds = input.seconds("seconds");
  const graceSec = input.seconds("grace") ?? 0;
  const place = input.whole("at");
  if ((messages === undefined) !== (seconds === undefined))
    throw new UsageError(
      "history needs both --messages and --seconds; anything older or beyond that number is removed",
    );
  const stream = streamOf(input);
  if (stream && messages !== undefined)
    throw new UsageError("a rule has --messages and --seconds, or --stream-seconds and --stream-bytes, and not both");
  if (messages === undefined && !stream && graceSec === 0)
    throw new UsageError(
      "the rule would change nothing: give it --messages and --seconds, --stream-seconds and --stream-bytes, or --grace",
    );
  if (place === 0) throw new UsageError("--at is 0; positions start at 1");
  const history = messages === undefined || seconds === undefined ? {} : { history: { messages, seconds } };
  return { rule: { pattern, ...history, ...(stream && { stream }), graceSec }, place };
}

function streamOf(input: Input): StreamRule | undefined {
  const seconds = input.seconds("stream-seconds");
  const bytes = input.whole("stream-bytes");
  if ((seconds === undefined) !== (bytes === undefined))
    throw new UsageError("streams need both --stream-seconds and --stream-bytes");
  return seconds === undefined || bytes === undefined ? undefined : { seconds, bytes };
}

/** A rule of the same pattern is replaced, and keeps its place unless another is named. */
function withRule(rule: ChannelRule, place: number | undefined, current: readonly ChannelRule[]): ChannelRule[] {
  const at = current.findIndex(({ pattern }) => pattern === rule.pattern);
  const others = current.filter(({ pattern }) => pattern !== rule.pattern);
  return others.toSpliced(place === undefined ? (at < 0 ? others.length : at) : place - 1, 0, rule);
}

function without(pattern: string, current: readonly ChannelRule[]): ChannelRule[] {
  const others = current.filter((rule) => rule.pattern !== pattern);
  if (others.length < current.length) return others;
  const known = current.map((rule) => rule.pattern).join(", ");
  throw new UsageError(
    `no rule has the pattern ${pattern}; ${known === "" ? "the application has no rules" : `the patterns are ${known}`}`,
  );
}

function listIn(file: string): unknown[] {
  const name = file === "-" ? "stdin" : file;
  const parsed = parseStrict(textIn(file));
  if (!parsed.ok) throw new UsageError(`${name} is not JSON: ${parsed.problem}`);
  const { value } = parsed;
  if (Array.isArray(value)) return value;
  throw new UsageError(
    `${name} must contain a JSON list of rules, such as [{"pattern":"chat/*","history":{"messages":500,"seconds":604800}}]`,
  );
}

function textIn(file: string): string {
  if (file === "-" && process.stdin.isTTY) throw new UsageError("no rules given: pipe a list to stdin, or pass a file");
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new UsageError(`--set ${file} cannot be read: ${(error as Error).message}`);
  }
}

function shown({ name, channelRules = [] }: AppWithRules): CommandResult {
  const value = { channelRules };
  if (channelRules.length === 0)
    return {
      value,
      text: "",
      notes: [
        `${name} has no channel rules: messages are not stored, and members who lose their connection leave at once.`,
      ],
    };
  const hasStreams = channelRules.some(({ stream }) => stream);
  const rows = channelRules.map(({ pattern, history, stream, graceSec }, at) => [
    at + 1,
    pattern,
    history?.messages,
    history && durationOf(history.seconds),
    ...(hasStreams ? [stream && `${exactBytes(stream.bytes)}, ${durationOf(stream.seconds)}`] : []),
    graceSec === 0 ? undefined : `${graceSec}s`,
  ]);
  return {
    value,
    text: table(["", "PATTERN", "MESSAGES", "KEPT FOR", ...(hasStreams ? ["STREAMS"] : []), "GRACE"], rows),
    notes: shadowed(channelRules),
  };
}

/** A note per rule that never applies. */
const shadowed = (rules: readonly ChannelRule[]): string[] =>
  rules.flatMap(({ pattern }, at) => {
    const by = shadowOf(rules, at);
    return by < 0
      ? []
      : [
          `Rule ${at + 1}, ${pattern}, never applies: rule ${by + 1}, ${rules[by]?.pattern}, already matches all of its channels. Move it with --add '${pattern}' … --at ${by + 1}.`,
        ];
  });

const UNITS = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
] as const;

/** In the largest unit that is exact, in the form that --seconds takes. */
function durationOf(seconds: number): string {
  for (const [unit, length] of UNITS) if (seconds % length === 0) return `${seconds / length}${unit}`;
  return `${seconds}s`;
}
