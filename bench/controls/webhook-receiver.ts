/**
 * An endpoint of webhooks in a process of its own. It writes its port as a line. Paths below /hang get no answer; `GET /arrived` answers with how late each
 * event came since the last such call, in milliseconds after it happened.
 */
let late: number[] = [];
const ids = new Set<string>();

const receiver = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/arrived") {
      const answer = Response.json({ late, distinct: ids.size });
      late = [];
      return answer;
    }
    if (pathname.startsWith("/hang")) return new Promise<Response>(() => undefined);
    const { timestamp } = (await request.json()) as { timestamp: string };
    late.push(Date.now() - Date.parse(timestamp));
    ids.add(request.headers.get("webhook-id") ?? "");
    return new Response(null, { status: 204 });
  },
});
console.log(receiver.port);
