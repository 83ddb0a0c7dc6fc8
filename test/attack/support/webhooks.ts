/** Every secret that webhooks have: of operators, with a header; of the application; of the URL of a room. */
import type { Admin } from "../../support/admin.ts";
import type { Application } from "../../support/application.ts";

interface Made {
  readonly _id: string;
  readonly secret: string;
}

export async function makeWebhooks(
  admin: Admin,
  app: Application,
  room: string,
): Promise<{ id: string; header: string; secrets: string[] }> {
  const header = crypto.randomUUID() + crypto.randomUUID();
  const path = `/apps/${app.id}/webhooks`;
  const wanted = { url: "https://hooks.example.com/", events: ["room.*"], headers: { "X-Key": header } };
  const made = await admin.must<Made>("POST", path, wanted);
  const rotated = await admin.must<Made>("POST", `${path}/${made._id}/rotate`, {});
  const own = await app.must<Made>("POST", "/webhooks", wanted);
  await app.must("PUT", `/room/${room}`, { meetingEndedWebhook: "https://hooks.example.com/ended" });
  const { data } = await app.must<{ data: Made[] }>("GET", `/room/${room}/webhook-secrets`);
  return { id: made._id, header, secrets: [made, rotated, own, ...data].map(({ secret }) => secret) };
}
