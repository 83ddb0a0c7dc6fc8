/** The time, for what counts seconds. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Unix ms; anew with each second while it runs. */
export function useNow(isRunning = true): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!isRunning) return;
    now.value = Date.now();
    const timer = setInterval(() => (now.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now.value;
}
