/** Sent as the data of a message: the sender's connection, and the number of this message among those to the same destination. */
export interface Mark {
  readonly connection: number;
  readonly number: number;
}

/** Both numbers in one, so that a mark can be the key of a map without a text being made of it. */
export const keyOf = ({ connection, number }: Mark): number => connection * NUMBERS_MAX + number;

/** More messages than one connection sends. Connections up to 2 ** 26 fit into a safe integer beside it. */
const NUMBERS_MAX = 2 ** 27;
