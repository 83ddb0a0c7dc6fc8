/** The only script of the page for a room that does not exist. Its address may carry a token, which can be good for other rooms: it is taken out. */
import { takeFromAddress } from "./page/address.ts";

takeFromAddress();
