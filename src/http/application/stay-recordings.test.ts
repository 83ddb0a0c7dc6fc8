import { expect, test } from "bun:test";
import { appRow } from "../../store/testing/rows.ts";
import { run } from "../testing/calls.ts";
import { stayRecordingEndpoints } from "./stay-recordings.ts";

type Parts = Parameters<typeof stayRecordingEndpoints>[0];

/** For whom the upload of a client is counted. */
async function senderAt(address: string): Promise<string | undefined> {
  let sender: string | undefined;
  const recorders = {
    begin: async (_app: unknown, _room: unknown, caller: { readonly address: string }) => {
      sender = caller.address;
      return { id: "upload", generation: 1 };
    },
  };
  const caller = { app: appRow("app"), token: "token" };
  const guard = () => ({ security: "application", admit: () => caller, recheck: () => caller });
  const parts = { recorders, links: { uploadProof: () => "proof" }, guard, frameOrigins: undefined };
  const path = "/api/v1/room/:roomName/recording";
  const params = { roomName: "standup" };
  await run(stayRecordingEndpoints(parts as unknown as Parts), {
    method: "POST",
    path,
    params,
    body: { source: "camera" },
    address,
  });
  return sender;
}

test("uploads of one IPv6 site are counted together: its networks are not many senders", async () => {
  const sender = await senderAt("2001:db8:1:1::1");
  expect(sender).toBeString();
  expect(await senderAt("2001:db8:1:2::1")).toBe(sender);
  expect(await senderAt("2001:db8:2:1::1")).not.toBe(sender);
  expect(await senderAt("192.0.2.1")).not.toBe(await senderAt("192.0.2.2"));
});
