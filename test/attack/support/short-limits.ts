/**
 * Loaded into a node before its own code (`bun --preload`): changes limits of recordings, so that a test reaches them. The product itself has
 * no such hook.
 */
import { UPLOAD_RATES, type UploadRateLimits } from "../../../src/http/limits.ts";
import { Budgets } from "../../../src/recordings/budgets/budgets.ts";
import { MEND_LIMITS, type MendLimits } from "../../../src/recordings/mending/limits.ts";

export interface ShortLimits {
  readonly mendMs?: number;
  readonly mendMemoryBytes?: number;
  readonly stayBytes?: number;
  /** For tests of something else that send very many tiny parts. */
  readonly uploadRates?: UploadRateLimits;
}

const VARIABLE = "TEST_SHORT_LIMITS";

/** Environment variables that load this file into a node. */
export const shortLimits = (limits: ShortLimits): Readonly<Record<string, string>> => ({
  BUN_OPTIONS: `--preload ${import.meta.path}`,
  [VARIABLE]: JSON.stringify(limits),
});

const wanted = JSON.parse(process.env[VARIABLE] ?? "{}") as ShortLimits;
const { mendMs, mendMemoryBytes, stayBytes, uploadRates } = wanted;

const shorter: Partial<MendLimits> = {
  ...(mendMs !== undefined && { cpuMs: () => mendMs, wallMs: mendMs }),
  ...(mendMemoryBytes !== undefined && { memoryBytes: mendMemoryBytes }),
};
Object.assign(MEND_LIMITS, shorter);
Object.assign(UPLOAD_RATES, uploadRates);

if (stayBytes !== undefined) {
  const { requireRoom, requireBody, next } = Budgets.prototype;
  const shorten = (budgets: Budgets): unknown => Reflect.set(budgets, "maxOfStay", stayBytes);
  Budgets.prototype.requireRoom = function (this: Budgets, ...call) {
    shorten(this);
    return requireRoom.apply(this, call);
  };
  Budgets.prototype.requireBody = function (this: Budgets, ...call) {
    shorten(this);
    return requireBody.apply(this, call);
  };
  Budgets.prototype.next = function (this: Budgets, ...call) {
    shorten(this);
    return next.apply(this, call);
  };
}
