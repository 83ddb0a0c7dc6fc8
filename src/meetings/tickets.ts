/**
 * The ticket of a visitor in the lobby is a credential: a client that shows it after an admin has let the visitor in enters the room. Only its
 * holder gets it. Everything else is named by a digest of it, under a label of its own, so that none of these names gives away the ticket or
 * another name.
 */
import { randomBytes } from "node:crypto";
import { digestOf } from "../access/vault.ts";

const TICKET_BYTES = 16;
const WAIT_ID_CHARS = 32;
const STAY_ID_CHARS = 24;

export const newTicket = (): string => randomBytes(TICKET_BYTES).toString("hex");

/** What others see of a visitor who waits: the peer id, the name of the channel, the key of its row, the entry in the admins' queue. */
export const waitIdOf = (ticket: string): string => digestOf(`wait id of ${ticket}`).slice(0, WAIT_ID_CHARS);

/** The participantSession of the one stay that a ticket is good for, however often it is shown. */
export const stayOfTicket = (ticket: string): string => digestOf(`stay of ${ticket}`).slice(0, STAY_ID_CHARS);
