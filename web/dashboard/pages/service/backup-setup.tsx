/** What to set where no backups are scheduled. */
import type { Backups } from "../../api/backup-types.ts";
import { Card } from "../../ui/page.tsx";
import { Snippet } from "../../ui/values.tsx";

const FOLDER = "PARLEY_BACKUP_TO=/backups/\nPARLEY_BACKUP_EVERY=1d";
const BUCKET =
  "PARLEY_BACKUP_TO='s3://KEY:SECRET@bucket/parley?endpoint=https://s3.example.com'\nPARLEY_BACKUP_EVERY=1d\nPARLEY_BACKUP_KEY=base64-of-32-bytes";
const EVERY = "PARLEY_BACKUP_EVERY=1d";

export const BackupSetup = ({ state: { target } }: { readonly state: Backups }) => (
  <Card title={target ? "Schedule backups" : "No backups are set up"}>
    <div class="form">
      {target ? (
        <>
          <p>Backups do not start automatically. Set how often to create one, and restart the service:</p>
          <Snippet text={EVERY} what="setting" />
        </>
      ) : (
        <>
          <p>Set these variables and restart the service. On another disk of this machine:</p>
          <Snippet text={FOLDER} what="settings for a folder" />
          <p>
            In an S3-compatible bucket, encrypted. Create the key with <code>openssl rand -base64 32</code>, and keep a
            copy of it: without it the backups cannot be restored.
          </p>
          <Snippet text={BUCKET} what="settings for a bucket" />
        </>
      )}
      <p class="muted small">
        Manually, without any settings: <code>bin/parley backup FILE</code>. The Backups page of the documentation says
        more.
      </p>
    </div>
  </Card>
);
