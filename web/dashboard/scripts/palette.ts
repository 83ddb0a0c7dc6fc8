/** What Ctrl K opens. */
import "./shared.ts";

export { Palette } from "../find/palette.tsx";
