/** Builds what is repeated in the background for people who are inside or wait. */
import { Repeating } from "../../base/repeating.ts";
import { LOBBY_SWEEP_EVERY_MS, MISSED_REPEATED_EVERY_MS, TICK_MS } from "../contract/limits.ts";
import type { ActsBuilt } from "./acts.ts";
import type { EntranceBuilt } from "./entrance.ts";
import type { NoticesBuilt } from "./notices.ts";
import type { StaysBuilt } from "./stays.ts";

export interface BackgroundBuilt {
  /** Every second; `start` repeats it. */
  tick(): Promise<void>;
  /** Every few seconds: publishes again what notices could not say. */
  repeatMissed(): Promise<void>;
  /** The secret key of an application was rotated. Nothing depends on this call: the next tick and the next sweep find the same. */
  secretRotated(): void;
  start(): void;
  stop(): Promise<void>;
}

export function buildBackground(
  failed: (error: unknown) => void,
  { recording }: Pick<NoticesBuilt, "recording">,
  { generations }: Pick<StaysBuilt, "generations">,
  { lobby }: Pick<EntranceBuilt, "lobby">,
  { times, changes, repeats }: Pick<ActsBuilt, "times" | "changes" | "repeats">,
): BackgroundBuilt {
  const putOut = async (): Promise<void> => {
    await generations.tick();
    await times.tick();
  };
  const endWithSecret = async (): Promise<void> => {
    await generations.tick();
    await lobby.endWithSecret();
  };
  const ticking = new Repeating(TICK_MS, putOut, failed);
  // By itself: it reads the store room by room, and people are put out on time also while that does not answer.
  const checking = new Repeating(TICK_MS, () => changes.tick(), failed);
  const repeating = new Repeating(MISSED_REPEATED_EVERY_MS, () => repeats.run(), failed);
  const sweeping = new Repeating(LOBBY_SWEEP_EVERY_MS, () => lobby.sweep(), failed);
  return {
    tick: async () => {
      await putOut();
      await changes.tick();
    },
    repeatMissed: () => repeats.run(),
    secretRotated: () => void endWithSecret().catch(failed),
    start: () => {
      ticking.start();
      checking.start();
      sweeping.start();
      repeating.start();
    },
    stop: async () => {
      recording.stop();
      lobby.stop();
      await Promise.all([ticking.stop(), checking.stop(), sweeping.stop(), repeating.stop()]);
    },
  };
}
