/** What the routes of a node are built with. */
import type { Directory } from "../../access/keys/directory.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import type { AuditTrail } from "../../access/operators/audit-trail.ts";
import type { Operators } from "../../access/operators/operators.ts";
import type { DataReports } from "../../durable/report/reports.ts";
import type { BackupService } from "../../durable/schedule/service.ts";
import type { RuleChanges } from "../../history/rule-changes.ts";
import type { NodeFacts } from "../../http/control/facts.ts";
import type { PageServer } from "../../http/pages/pages.ts";
import type { FileReserve } from "../../http/server/file-reserve.ts";
import type { ReadyChecks } from "../../http/server/operations.ts";
import type { RequestPipeline } from "../../http/server/pipeline.ts";
import type { UnauthenticatedLimit } from "../../http/server/unauthenticated-limit.ts";
import type { Meetings } from "../../meetings/meetings.ts";
import type { TailNodes } from "../../realtime/operators/tail-nodes.ts";
import type { NodeContext } from "../parts/context.ts";
import type { Realtime } from "../parts/realtime.ts";
import type { RecordingService } from "../parts/recordings.ts";
import type { RoomService } from "../parts/rooms.ts";
import type { Sweeps } from "../parts/sweeps.ts";
import type { TurnService } from "../parts/turn.ts";
import type { Webhooks } from "../parts/webhooks.ts";

export interface RouteParts extends NodeContext {
  readonly keyring: Keyring;
  readonly directory: Directory;
  readonly operators: Operators;
  readonly auditTrail: AuditTrail;
  readonly realtime: Realtime;
  readonly rooms: RoomService;
  readonly meetings: Meetings;
  readonly recordings: RecordingService;
  readonly backups: BackupService;
  readonly webhooks: Webhooks;
  readonly turn: TurnService;
  readonly tails: TailNodes;
  readonly ruleChanges: RuleChanges;
  readonly sweeps: Sweeps;
  readonly dataReports: DataReports;
  readonly checks: ReadyChecks;
  readonly pipeline: RequestPipeline;
  readonly files: FileReserve;
  readonly unauthenticated: UnauthenticatedLimit;
  readonly facts: () => NodeFacts;
  readonly pages: PageServer;
}
