/** The overview: what most visits begin with. */
import "./shared.ts";

export { Overview } from "../pages/overview/overview.tsx";
export { Usage } from "../pages/overview/usage.tsx";
