/** What an application has decided about its channels: which of them keep history, and how long lost members stay. */
import { parseGlob } from "./glob.ts";
import { Scope } from "./scope.ts";

export interface Retention {
  /** The newest messages that are kept. */
  readonly messages: number;
  /** How long they are kept. */
  readonly seconds: number;
}

/** Channels that are streams: they exist from their creation over HTTP until they are deleted or expire. */
export interface StreamRule {
  /** A stream that is neither read nor written for this long expires. */
  readonly seconds: number;
  /** What one stream may hold. */
  readonly bytes: number;
}

export interface ChannelRule {
  readonly pattern: string;
  /** At most one of `history` and `stream`. */
  readonly history?: Retention;
  readonly stream?: StreamRule;
  /** How long a member that was lost without a goodbye stays in presence. */
  readonly graceSec: number;
}

/** An ordered list of rules, compiled once and matched often: the first whose pattern matches applies. */
export class ChannelRules {
  static readonly NONE = new ChannelRules([]);

  private readonly compiled: readonly { readonly scope: Scope; readonly rule: ChannelRule }[];

  constructor(readonly rules: readonly ChannelRule[]) {
    this.compiled = rules.flatMap((rule) => {
      const glob = parseGlob(rule.pattern);
      // A pattern was checked before it was stored. One that an earlier version accepted and this one does not matches nothing.
      return typeof glob === "string" ? [] : [{ scope: new Scope([glob]), rule }];
    });
  }

  get isEmpty(): boolean {
    return this.compiled.length === 0;
  }

  /** Reserved names have no rule. */
  ruleFor(channel: string): ChannelRule | undefined {
    for (const { scope, rule } of this.compiled) if (scope.matches(channel)) return rule;
    return undefined;
  }
}
