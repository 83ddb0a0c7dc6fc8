/** How frames are written as Server-Sent Events: each is one `data:` line. */

const UTF8 = new TextEncoder();
const LINE_BREAKS = /[\r\n]/g;

/** In a frame, CR and LF are only white space between the parts of what a client has sent: they would end the line. */
const oneLine = (frame: string): string =>
  frame.includes("\n") || frame.includes("\r") ? frame.replaceAll(LINE_BREAKS, " ") : frame;

export const eventOf = (frame: string): Uint8Array => UTF8.encode(`data: ${oneLine(frame)}\n\n`);

export const closeEvent = (code: number, reason: string): Uint8Array =>
  UTF8.encode(`event: close\ndata: ${JSON.stringify({ code, reason })}\n\n`);

/** Shows proxies, and the client, that the response is still there. */
export const HEARTBEAT = UTF8.encode(": heartbeat\n\n");
