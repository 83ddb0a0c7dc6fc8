import { describe, expect, test } from "bun:test";
import { Vault } from "../access/keys/vault.ts";
import { signJws } from "../access/tokens/jws.ts";
import type { RoomStore } from "../store/contract/rooms.ts";
import type { AppRow } from "../store/contract/store.ts";
import { appRow, roomRow } from "../store/testing/rows.ts";
import { AccessTokens } from "./access-token.ts";

const NOW = 1_900_000_000_000;
const vault = new Vault(Buffer.alloc(32, 7));
const room = roomRow("id-one", { name: "one" });
const rooms = {
  room: async (_app: string, name: string) => (name === room.name ? room : undefined),
  roomById: async (_app: string, id: string) => (id === room.id ? room : undefined),
} as Pick<RoomStore, "room" | "roomById"> as RoomStore;
const tokens = new AccessTokens(rooms, vault, () => NOW);

const app = (more: Partial<AppRow> = {}): AppRow => appRow("a", more);
const isGood = (row: AppRow, token: string): Promise<boolean> =>
  tokens.validate(row, token, undefined).then(
    () => true,
    () => false,
  );

describe("a token from before tokens had a generation and a room's id", () => {
  const old = signJws({}, { data: { roomName: "one", appName: "x" }, iat: 1 }, vault.derive("access tokens of a"));

  test("is valid while a room of that name exists", async () => {
    expect(await isGood(app(), old)).toBe(true);
    const other = signJws({}, { data: { roomName: "two" }, iat: 1 }, vault.derive("access tokens of a"));
    expect(await isGood(app(), other)).toBe(false);
  });

  test("is valid until the grace period of the first rotation ends", async () => {
    const rotated = (ends: number): AppRow => app({ secretSeq: 2, previousSecrets: [{ seq: 1, digest: "d", ends }] });
    expect(await isGood(rotated(NOW + 1), old)).toBe(true);
    expect(await isGood(rotated(NOW), old)).toBe(false);
    expect(await isGood(app({ secretSeq: 2 }), old)).toBe(false);
  });
});

test("claims of a wrong type are ignored", async () => {
  const odd = signJws({}, { data: {}, iat: 1, gen: "2", room: 7 }, vault.derive("access tokens of a"));
  expect(await isGood(app(), odd)).toBe(true);
  expect(await isGood(app({ secretSeq: 3 }), odd)).toBe(false);
});

test("two tokens of one moment with the same data are different: who is removed is known by the token", async () => {
  const mint = (): Promise<string> => tokens.mint({ app: app(), generation: 1 }, { roomName: "one" });
  const [first, second] = [await mint(), await mint()];
  expect(first).not.toBe(second);
  expect(await tokens.validate(app(), first, "one")).toEqual(await tokens.validate(app(), second, "one"));
});
