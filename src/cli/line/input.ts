/** The operands and flags of a command, parsed into what it needs. A wrong value is a UsageError that names the flag. */
import { DURATION_FORMS, durationIn } from "../../base/duration.ts";
import { didYouMean } from "../../protocol/did-you-mean.ts";
import { isObject, type JsonObject, parseStrict } from "../../protocol/json.ts";
import { UsageError } from "./errors.ts";

export type Env = Readonly<Record<string, string | undefined>>;

export class Input {
  constructor(
    readonly operands: readonly string[],
    readonly flags: ReadonlyMap<string, string>,
    readonly env: Env,
    private readonly repeated: ReadonlyMap<string, readonly string[]> = new Map(),
  ) {}

  withEnv(env: Env): Input {
    return new Input(this.operands, this.flags, env, this.repeated);
  }

  /** An operand, or "" if it is optional and absent. */
  operand(at: number): string {
    return this.operands[at] ?? "";
  }

  /** An operand that becomes part of a path. Anything that is not an id or a name is refused, because it could lead to another path. */
  id(at: number, what: string): string {
    const text = this.operand(at);
    if (!/^[A-Za-z0-9_-]+$/.test(text)) throw new UsageError(`${JSON.stringify(text)} is not ${what}`);
    return text;
  }

  isOn(name: string): boolean {
    return this.flags.has(name);
  }

  text(name: string): string | undefined {
    const text = this.flags.get(name);
    if (text === "") throw new UsageError(`--${name} must not be empty`);
    return text;
  }

  /** The value of a required flag, whose presence has been checked. */
  required(name: string): string {
    return this.text(name) ?? "";
  }

  /** All values of a flag that may be repeated; [] if it is absent. */
  texts(name: string): readonly string[] {
    const text = this.text(name);
    const texts = this.repeated.get(name) ?? (text === undefined ? [] : [text]);
    if (texts.includes("")) throw new UsageError(`--${name} must not be empty`);
    return texts;
  }

  /** null: the text is empty, which removes the value. */
  textOrNull(name: string): string | null | undefined {
    const text = this.flags.get(name);
    return text === "" ? null : text;
  }

  oneOf(name: string, choices: readonly string[]): string | undefined {
    const text = this.text(name);
    if (text !== undefined && !choices.includes(text))
      throw new UsageError(`--${name} is ${JSON.stringify(text)}; allowed: ${choices.join(", ")}`);
    return text;
  }

  /** Entries separated by commas; "" is the empty list; a JSON list if an entry contains a comma. */
  list(name: string, choices?: readonly string[]): string[] | undefined {
    const text = this.flags.get(name);
    if (text === undefined) return undefined;
    const list = text.trimStart().startsWith("[") ? jsonList(name, text) : commaList(name, text);
    const wrong = choices && list.find((item) => !choices.includes(item));
    if (wrong !== undefined)
      throw new UsageError(`--${name} has ${JSON.stringify(wrong)}; allowed: ${choices?.join(", ")}`);
    return list;
  }

  whole(name: string): number | undefined {
    const text = this.flags.get(name);
    if (text === undefined) return undefined;
    if (!/^\d{1,15}$/.test(text))
      throw new UsageError(`--${name} is ${JSON.stringify(text)}; it must be a whole number`);
    return Number(text);
  }

  /** Seconds: a whole number, with `s`, `m`, `h` or `d` for another unit. */
  seconds(name: string): number | undefined {
    const text = this.flags.get(name);
    if (text === undefined) return undefined;
    const seconds = durationIn(text, "s");
    if (seconds === undefined)
      throw new UsageError(
        `--${name} is ${JSON.stringify(text)}; it must be a number of seconds, or a time such as ${DURATION_FORMS}`,
      );
    return seconds;
  }

  /** Days: a whole number, or a time that is a whole number of days. */
  days(name: string): number | undefined {
    const text = this.flags.get(name);
    if (text === undefined) return undefined;
    const days = durationIn(text, "d");
    if (days === undefined)
      throw new UsageError(
        `--${name} is ${JSON.stringify(text)}; it must be a whole number of days, such as 30 or 30d`,
      );
    return days;
  }

  /** null: the value is `none`. */
  daysOrNone(name: string): number | null | undefined {
    return this.flags.get(name) === "none" ? null : this.days(name);
  }

  /** null: the value is `none`. */
  wholeOrNone(name: string): number | null | undefined {
    const text = this.flags.get(name);
    if (text === "none") return null;
    if (text !== undefined && !/^\d{1,15}$/.test(text))
      throw new UsageError(`--${name} is ${JSON.stringify(text)}; it must be a whole number, or none`);
    return this.whole(name);
  }

  /** Unix seconds, a date with its time zone, or a time such as 2h from now or before now; null: the value is `none`. */
  timeOrNone(name: string, relative: "from now" | "ago"): number | null | undefined {
    const text = this.flags.get(name);
    if (text === undefined || text === "none" || /^\d{1,15}$/.test(text)) return this.wholeOrNone(name);
    const seconds = durationIn(text, "s");
    if (seconds !== undefined) return Math.floor(Date.now() / 1000) + (relative === "ago" ? -seconds : seconds);
    const ms = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(ms))
      throw new UsageError(
        `--${name} is ${JSON.stringify(text)}; it must be Unix seconds, a date such as 2030-01-31T18:00:00Z, a time such as 2h (${relative}), or none`,
      );
    return Math.floor(ms / 1000);
  }

  onOff(name: string): boolean | undefined {
    const text = this.oneOf(name, ["on", "off"]);
    return text === undefined ? undefined : text === "on";
  }

  object(name: string, example = '{"name":"Ann"}'): JsonObject | undefined {
    const text = this.flags.get(name);
    if (text === undefined) return undefined;
    const value = parseJson(text);
    if (!isObject(value))
      throw new UsageError(`--${name} must be a JSON object without duplicate keys, such as '${example}'`);
    return value;
  }

  /** An object with these fields only: the server ignores others, so that a typo would do nothing. */
  fields(name: string, known: readonly string[], example: string): JsonObject | undefined {
    const value = this.object(name, example);
    const unknown = Object.keys(value ?? {}).find((field) => !known.includes(field));
    if (unknown !== undefined)
      throw new UsageError(
        `--${name} has no field ${JSON.stringify(unknown)}${didYouMean(unknown, known)} See docs/rooms.md`,
      );
    return value;
  }
}

function commaList(name: string, text: string): string[] {
  if (text.trim() === "") return [];
  const items = text.split(",").map((item) => item.trim());
  if (items.includes("")) throw new UsageError(`--${name} has an empty entry`);
  return items;
}

function jsonList(name: string, text: string): string[] {
  const value = parseJson(text);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  throw new UsageError(`--${name} starts with "[", so it must be a JSON list of strings`);
}

function parseJson(text: string): unknown {
  const parsed = parseStrict(text);
  return parsed.ok ? parsed.value : undefined;
}
