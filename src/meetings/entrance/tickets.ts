/**
 * The ticket of a visitor in the lobby is a credential: a client that shows it after an admin has let the visitor in enters the room. Only its
 * holder gets it. Everything else is named by a digest of it, under a label of its own, so that none of these names gives away the ticket or
 * another name. It ends with the generation of the application's secret key that it was made under, which is part of it: with another generation it would be
 * another ticket, which no one has asked for.
 */
import { randomBytes } from "node:crypto";
import { FIRST_GENERATION } from "../../access/keys/app-secret.ts";
import { digestOf } from "../../access/keys/vault.ts";

const TICKET_BYTES = 16;
const WAIT_ID_CHARS = 32;
const STAY_ID_CHARS = 24;

export const newTicket = (generation: number): string => `${randomBytes(TICKET_BYTES).toString("hex")}.${generation}`;

/** Tickets of earlier releases name none. */
export const generationOfTicket = (ticket: string): number => Number(ticket.split(".")[1] ?? FIRST_GENERATION);

/** What others see of a visitor who waits: the peer id, the name of the channel, the key of its row, the entry in the admins' queue. */
export const waitIdOf = (ticket: string): string => digestOf(`wait id of ${ticket}`).slice(0, WAIT_ID_CHARS);

/** The participantSession of the one stay that a ticket is good for, however often it is shown. */
export const stayOfTicket = (ticket: string): string => digestOf(`stay of ${ticket}`).slice(0, STAY_ID_CHARS);
