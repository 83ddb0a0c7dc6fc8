/** Loads the script that looks at runs with the first one. If it cannot be loaded, recordings have nothing beside their files. */
import type { RunObservation, RunObserver } from "./contract.ts";

export const observeLater =
  (address: string): RunObserver =>
  (run, sink) => {
    let observation: RunObservation | undefined;
    let { isMuted } = run;
    let isOver = false;
    (import(address) as Promise<{ readonly observe: RunObserver }>)
      .then(({ observe }) => {
        if (!isOver) observation = observe({ ...run, isMuted }, sink);
      })
      .catch(() => undefined);
    return {
      setMuted: (isMutedNow) => {
        isMuted = isMutedNow;
        observation?.setMuted(isMuted);
      },
      stop: () => {
        isOver = true;
        observation?.stop();
      },
    };
  };
