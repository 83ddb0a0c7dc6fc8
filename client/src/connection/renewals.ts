/** Renews the token of an open connection before it ends. */
import type { ParleyError } from "../events/errors.ts";
import type { Frame, Welcome } from "../events/frames.ts";
import type { TokenReason } from "./options.ts";
import type { SteadyClock } from "./steady-clock.ts";
import type { Tokens } from "./tokens.ts";

/** A token is renewed this long before it ends, or when two thirds of its life are over. */
const RENEW_BEFORE_MS = 60_000;
const RENEW_AGAIN_MIN_MS = 1000;
const RENEW_AGAIN_MAX_MS = 10_000;

interface Renewed {
  readonly tokens: Tokens;
  readonly steadyMs: SteadyClock;
  renew(token: string): Promise<Frame>;
  error(error: ParleyError): void;
  end(error: ParleyError): void;
}

export class Renewals {
  readonly #host: Renewed;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** There is one while there is a connection. */
  #welcome: Welcome | undefined;
  /** Steady ms. */
  #welcomedMs = 0;

  constructor(host: Renewed) {
    this.#host = host;
  }

  /** A connection has begun. */
  begin(welcome: Welcome): void {
    this.#welcome = welcome;
    this.#welcomedMs = this.#host.steadyMs();
    if (typeof welcome.expiresAt === "number") this.#tokenLasts(welcome.expiresAt);
  }

  /** It has ended. */
  stop(): void {
    this.#welcome = undefined;
    clearTimeout(this.#timer);
  }

  /** `expiresAt` is in seconds of the service's clock. */
  #tokenLasts(expiresAt: number): void {
    const leftMs = this.#leftMs(expiresAt);
    this.#host.tokens.accepted(leftMs);
    // A little earlier by chance, because many tokens may have been made in the same moment.
    this.#renewIn(leftMs - Math.min(RENEW_BEFORE_MS, leftMs / 3) * (1 + Math.random() / 4), "renew", expiresAt);
  }

  /** At least: the service's clock is in whole seconds, and may have been almost a second further. */
  #leftMs(expiresAt: number): number {
    return (expiresAt - (this.#welcome?.serverTime ?? 0) - 1) * 1000 - (this.#host.steadyMs() - this.#welcomedMs);
  }

  #renewIn(ms: number, reason: TokenReason, expiresAt: number): void {
    clearTimeout(this.#timer);
    // A token that has ended already must not be asked for in a loop.
    this.#timer = setTimeout(() => void this.#renew(reason, expiresAt), Math.max(RENEW_AGAIN_MIN_MS, ms));
  }

  async #renew(reason: TokenReason, expiresAt: number): Promise<void> {
    const welcome = this.#welcome;
    try {
      const token = await this.#host.tokens.ask(reason);
      // Without this feature the service ends the connection when the old token ends, and the new one is used to come back.
      if (!this.#welcome?.features?.includes("renew")) return;
      const renewed = await this.#host.renew(token);
      if (this.#welcome === welcome && typeof renewed.expiresAt === "number") this.#tokenLasts(renewed.expiresAt);
    } catch (error) {
      if (this.#welcome !== welcome || !welcome) return;
      const { code } = error as ParleyError;
      if (code === "no_token") return this.#host.end(error as ParleyError);
      // It is used for a connect instead.
      if (code === "message_too_large") return;
      const isRefused = code === "invalid_token" || code === "token_expired";
      if (isRefused) this.#host.tokens.refused();
      this.#host.error(error as ParleyError);
      const againMs = Math.min(RENEW_AGAIN_MAX_MS, this.#leftMs(expiresAt) / 3);
      this.#renewIn(againMs, isRefused ? "refused" : "renew", expiresAt);
    }
  }
}
