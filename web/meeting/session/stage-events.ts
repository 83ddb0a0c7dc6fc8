/** Events for the page that frames this one: joined, left, recording and error. */
import type { Framing } from "../page/frame.ts";
import type { Session, Stage } from "./session.ts";

/** To be run whenever the stage changes. */
export function postStages(session: Session, framing: Framing): () => void {
  let isInside = false;
  let before: Stage["at"] = "loading";
  return () => {
    const stage = session.stage.value;
    const { participantSession } = session.me.peek();
    if (stage.at === "inside" && !isInside) framing.post("joined", { participantSession });
    else if (stage.at !== "inside" && isInside)
      framing.post("left", { reason: stage.at === "out" ? stage.why : "left" });
    else if (stage.at === "closed") framing.post("error", { code: stage.why });
    else if (stage.at === "out" && before !== "out") framing.post("error", { code: stage.why });
    isInside = stage.at === "inside";
    before = stage.at;
  };
}

/** To be run whenever the recording changes. */
export function postRecording(session: Session, framing: Framing): () => void {
  let before: string | undefined;
  return () => {
    const by = session.recording.value?.by;
    if (by === before) return;
    before = by;
    framing.post("recording", { on: by !== undefined, ...(by !== undefined && { by }) });
  };
}
