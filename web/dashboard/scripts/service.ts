/** What operators look after. */
import "./shared.ts";

export { Audit } from "../pages/service/audit.tsx";
export { Backups } from "../pages/service/backups.tsx";
export { Data } from "../pages/service/data.tsx";
export { Nodes } from "../pages/service/nodes.tsx";
export { Operators } from "../pages/service/operators.tsx";
export { Settings } from "../pages/service/settings.tsx";
