/** A whole meeting, played back. */
import "./shared.ts";

export { Playback } from "../pages/playback/playback.tsx";
