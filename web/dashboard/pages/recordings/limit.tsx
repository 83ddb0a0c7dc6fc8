/** How much an application's recordings take, and how much they may. */
import { patch, segment } from "../../api/client.ts";
import type { Storage } from "../../api/room-types.ts";
import type { App } from "../../api/types.ts";
import { counted } from "../../drafts/rule-draft.ts";
import { loadApps } from "../../live/apps.ts";
import { bytes } from "../../text/format.ts";
import { ByteLimit } from "../../ui/byte-limit.tsx";
import { toast } from "../../ui/notice.tsx";

interface RecordingLimitProps {
  readonly app: App;
  /** undefined: it cannot be read at the moment. */
  readonly storage: Storage | undefined;
}

export const RecordingLimit = ({ app, storage }: RecordingLimitProps) => (
  <ByteLimit
    title="Storage"
    used={storage && storage.bytes + storage.uploading}
    limit={app.maxRecordingBytesTotal}
    unit={1024 ** 3}
    least={0}
    label="Storage limit (GiB)"
    what={`${counted(storage?.recordings ?? 0, "recordings")}${storage?.uploading ? `, and ${bytes(storage.uploading)} that arrive now` : ""}.`}
    atLimit="At the limit, nothing more is accepted until you delete recordings. None are deleted automatically."
    onSubmit={async (most) => {
      await patch(`/apps/${segment(app._id)}`, { maxRecordingBytesTotal: most });
      await loadApps();
      toast(`The storage limit is now ${bytes(most)}.`);
    }}
  />
);
