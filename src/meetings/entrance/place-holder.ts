/** Whom a place in a room is counted for, and with it what its person writes there: a join makes a new id each time, so that cannot be it. */
import { digestOf } from "../../access/keys/vault.ts";
import type { VerifiedAccess } from "../../rooms/access-token.ts";
import type { PlaceHolder } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";

interface WhoEnters {
  readonly id: string;
  readonly access: Pick<VerifiedAccess, "digest" | "isForRoom"> | undefined;
  readonly isLetIn?: true | undefined;
}

/** Digests of where it comes from. */
interface From {
  readonly address: string;
  readonly site?: string | undefined;
}

/** 96 bits: in a room no two holders have the same by chance. */
const CLAIM_CHARS = 24;

/**
 * Guests of one IPv6 site hold places together, or it could hold all of a room's. An access token may be one that many people share, so its places are counted
 * by site too; a visitor who was let in from the lobby has one place. A token of another room says who its holder is, and invites no one: with a few of them a
 * client could keep a room full without entering.
 */
export function holderOfPlace({ id, access, isLetIn }: WhoEnters, { address, site = address }: From): PlaceHolder {
  if (access?.isForRoom) return { name: `${access.digest} ${site}`, isVerified: true };
  return isLetIn ? { name: id, isVerified: true } : { name: site, isVerified: false };
}

/** As connect tokens say it: another digest in each room, so that tokens of two rooms do not show that they are of one address. */
export const holderClaim = ({ id }: Pick<RoomRow, "id">, { name }: PlaceHolder): string =>
  digestOf(`${id} ${name}`).slice(0, CLAIM_CHARS);
