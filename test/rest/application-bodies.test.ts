/** Request bodies of the application API: the first section of rooms.md, line by line. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { expectAppRefusal, newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { inPieces, rawCall, statusOf } from "../support/http.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const app = await newApplication(server);

const FORM = { "Content-Type": "application/x-www-form-urlencoded" };

describe("bodies", () => {
  test("an empty body is {}, whatever its content type", async () => {
    for (const type of ["application/json", "text/plain", ""]) {
      const headers = type === "" ? {} : { "Content-Type": type };
      const { status, body } = await app.call("POST", "/room", undefined, { headers });
      expect([status, body.roomName]).toEqual([200, expect.stringMatching(/^[a-z]{10}$/)]);
    }
  });

  test("form fields are read as true/false/1/0 and decimal integers", async () => {
    const form =
      "roomName=form&enableChat=false&autoJoin=1&joinVideoOn=0&audioOnlyRoom=true&maxParticipants=12&lang=fr";
    const { status, body } = await app.call("POST", "/room", form, { headers: FORM });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      roomName: "form",
      enableChat: false,
      autoJoin: true,
      joinVideoOn: false,
      audioOnlyRoom: true,
      maxParticipants: 12,
      lang: "fr",
    });
    const edited = await app.call("PUT", "/room/form", "maxParticipants=0&roomName=1234", { headers: FORM });
    expect(edited.body).toMatchObject({ roomName: "1234", autoJoin: true });
    expect(edited.body).not.toHaveProperty("maxParticipants");
    await app.must("DELETE", "/room/1234");
  });

  test.each([
    ["enableChat=yes", "enableChat"],
    ["enableChat=2", "enableChat"],
    ["enableChat=", "enableChat"],
    ["maxParticipants=1.5", "maxParticipants"],
    ["maxParticipants=0x10", "maxParticipants"],
    ["maxParticipants=1e3", "maxParticipants"],
    ["maxParticipants=-1", "maxParticipants"],
    ["expireUnixSec=99999999999999999999", "expireUnixSec"],
  ])("a form's %s is refused and named", async (form, field) => {
    const refusal = expectAppRefusal(await app.call("POST", "/room", form, { headers: FORM }), 400, "invalid_request");
    expect(refusal.error.details?.map((one) => one.field)).toEqual([field]);
  });

  test("a field of a form that occurs twice is refused", async () => {
    const twice = await app.call("POST", "/room", "roomName=a1&roomName=a2", { headers: FORM });
    expectAppRefusal(twice, 400, "invalid_request");
  });

  test("JSON that curl -d labels as a form is read as JSON", async () => {
    const { status, body } = await app.call("POST", "/room", '{"roomName":"curl","enableChat":false}', {
      headers: FORM,
    });
    expect([status, body.roomName, body.enableChat]).toEqual([200, "curl", false]);
    await app.must("DELETE", "/room/curl");
  });

  test.each(["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/octet-stream", "json"])(
    "415 for %s",
    async (type) => {
      const answer = await app.call("POST", "/room", '{"roomName":"x"}', { headers: { "Content-Type": type } });
      expectAppRefusal(answer, 415, "unsupported_media_type");
    },
  );

  test.each(["application/json; charset=utf-8", "APPLICATION/JSON"])("%s is JSON", async (type) => {
    const answer = await app.call("POST", "/room", "{}", { headers: { "Content-Type": type } });
    expect(answer.status).toBe(200);
  });

  test("413 for more than 128 KiB, announced or not", async () => {
    const big = Buffer.from(JSON.stringify({ meta: "x".repeat(140_000) }));
    for (const body of [big, inPieces(big)])
      expectAppRefusal(await app.call("POST", "/token", body), 413, "body_too_large");
  });

  test.each(["[]", "null", '"x"', "1", "{", '{"a":1,"a":2}', '{"roomName":"a","roomName":"b"}', "\u0000"])(
    "%p is refused as a body",
    async (text) => {
      expectAppRefusal(await app.call("POST", "/room", text), 400, "invalid_request");
    },
  );

  test("a body that is not UTF-8 is refused", async () => {
    const answer = await app.call("POST", "/room", Buffer.from([0x7b, 0xff, 0x7d]));
    expectAppRefusal(answer, 400, "invalid_request");
  });

  test("unknown fields are ignored, and named in X-Parley-Ignored", async () => {
    const body = { roomName: "typo", enableChatt: false, archived: true, _id: "mine", ö: 1 };
    const { status, body: room, headers } = await app.call("POST", "/room", body);
    expect(status).toBe(200);
    expect(headers.get("x-parley-ignored")).toBe("enableChatt, archived, _id, %C3%B6");
    expect(room).toMatchObject({ enableChat: true, archived: false, _id: expect.not.stringContaining("mine") });
    await app.must("DELETE", "/room/typo");
  });

  test("unknown query parameters are named there too, together with the body's, each once and at most 20", async () => {
    const ignored = async (method: string, path: string, body?: object): Promise<string | null> => {
      const { status, headers } = await app.call(method, path, body);
      expect(status).toBe(200);
      return headers.get("x-parley-ignored");
    };
    expect(await ignored("GET", "/rooms?limt=5&limit=5&ö=1&limt=6")).toBe("limt, %C3%B6");
    expect(await ignored("GET", `/rooms?secretKey=${app.secretKey}`)).toBeNull();
    expect(await ignored("POST", "/room?nam=x", { roomName: "typo2", nam: 1, roomNam: 2 })).toBe("nam, roomNam");
    expect(await ignored("GET", "/room/typo2?fields=all")).toBe("fields");
    const many = Array.from({ length: 50 }, (_, i) => `p${i}=1`).join("&");
    expect((await ignored("DELETE", `/room/typo2?${many}`))?.split(", ")).toHaveLength(20);
  });

  test("a known field of the wrong type or value is a 400 that names every such field", async () => {
    const answer = await app.call("POST", "/room", { enableChat: "yes", lang: 5, maxParticipants: -1 });
    const { message, error } = expectAppRefusal(answer, 400, "invalid_request");
    expect(message).toContain("enableChat");
    expect(error.details?.map(({ field }) => field).sort()).toEqual(["enableChat", "lang", "maxParticipants"]);
  });

  test("a WebSocket upgrade is refused", async () => {
    const request = `GET /api/v1/rooms HTTP/1.1\r\nHost: ${app.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
    expect(statusOf(await rawCall(app.url, request))).toBe(404);
  });
});
