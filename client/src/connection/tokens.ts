/** Gets tokens from the application: only when one is needed, and one at a time. */
import { ParleyError } from "../events/errors.ts";
import { checkSecret } from "./check.ts";
import type { TokenReason, TokenSource } from "./options.ts";
import { steadyClock } from "./steady-clock.ts";

/** A function that takes longer has failed. */
const TOKEN_WITHIN_MS = 30_000;
/** A token of which less is left is not used for a connect. */
const LEFT_MIN_MS = 5000;

export class Tokens {
  readonly #get: TokenSource;
  #token: string | undefined;
  readonly #steadyMs = steadyClock();
  /** Steady ms; not known before a welcome. */
  #endsMs = Number.POSITIVE_INFINITY;
  #asking: Promise<string> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wasRefused = false;
  /** The token of this connect was asked for because the one before was refused: there is no better one. */
  #isLastTry = false;

  constructor(get: TokenSource) {
    this.#get = get;
  }

  /** For a connect: the one at hand, if there is one and enough of it is left. */
  async forConnect(): Promise<string> {
    const isAtHand = this.#token !== undefined && this.#steadyMs() <= this.#endsMs - LEFT_MIN_MS;
    this.#isLastTry = this.#wasRefused && !isAtHand;
    return isAtHand && this.#token !== undefined ? this.#token : this.ask(this.#wasRefused ? "refused" : "connect");
  }

  /** A new one, which is also used for the next connect. */
  ask(reason: TokenReason): Promise<string> {
    this.#asking ??= this.#call(reason)
      .then((token) => {
        this.#endsMs = Number.POSITIVE_INFINITY;
        this.#token = token;
        return token;
      })
      .finally(() => {
        this.#asking = undefined;
        clearTimeout(this.#timer);
      });
    return this.#asking;
  }

  /** The service has accepted the token: it is good for that long. */
  accepted(lifeMs: number): void {
    this.#wasRefused = false;
    this.#endsMs = this.#steadyMs() + lifeMs;
  }

  /** Returns whether another token may help. */
  refused(): boolean {
    this.#token = undefined;
    this.#wasRefused = true;
    return !this.#isLastTry;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #call(reason: TokenReason): Promise<string> {
    const late = new Promise<never>((_, reject) => {
      this.#timer = setTimeout(() => reject(new Error("It took too long.")), TOKEN_WITHIN_MS);
    });
    let token: string | null;
    try {
      token = await Promise.race([this.#get({ reason }), late]);
      if (token !== null && typeof token !== "string") throw new TypeError("A token is a string.");
      checkSecret(token ?? "", "`token` has returned");
    } catch (cause) {
      throw new ParleyError("token_failed", "The `token` function failed.", { cause });
    }
    if (token === null) throw new ParleyError("no_token", "The application no longer has a token for this client.");
    return token;
  }
}
