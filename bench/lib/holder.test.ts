/** The holder opens what it is asked for, and notices losses: a connection that is missing would make a memory figure too low. */
import { afterEach, expect, test } from "bun:test";
import { until } from "../../test/support/wait.ts";
import { Holder, Holders } from "./holder.ts";

const servers: Bun.Server<undefined>[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop(true))));

/** Sends `hello`, as far as it lets clients in. */
function serve(letsIn: () => boolean = () => true) {
  const sockets = new Set<Bun.ServerWebSocket<undefined>>();
  const sources = new Set<string>();
  const server = Bun.serve<undefined>({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request, self) => {
      if (!letsIn()) return new Response("full", { status: 503 });
      sources.add(self.requestIP(request)?.address ?? "");
      self.upgrade(request, { data: undefined });
      return undefined;
    },
    websocket: {
      open: (socket) => {
        sockets.add(socket);
        socket.send("hello");
      },
      close: (socket) => void sockets.delete(socket),
      message: () => undefined,
    },
  });
  servers.push(server);
  return { port: server.port ?? 0, sockets, sources };
}

const scripts = (count: number) => Array.from({ length: count }, () => ({ path: "/", steps: [{ expect: "hello" }] }));

test("connections are opened in steps, by several holders, each from its own address", async () => {
  const { port, sockets, sources } = serve();
  const plan = (source: string) => ({ scripts: scripts(20), ports: [port], sources: [source], opening: 4 });
  await using holders = await Holders.start([plan("127.0.2.1"), plan("127.0.2.2")]);
  expect((await holders.open(11)).ready).toBe(11);
  expect(sockets.size).toBe(11);
  expect((await holders.open(40)).ready).toBe(40);
  expect([sockets.size, [...sources].toSorted()]).toEqual([40, ["127.0.2.1", "127.0.2.2"]]);
});

test("a lost connection ends the run, unless clients come back", async () => {
  const { port, sockets } = serve();
  await using holder = await Holder.start({ scripts: scripts(3), ports: [port], sources: ["127.0.2.1"], opening: 4 });
  await holder.open(3);
  [...sockets][1]?.terminate();
  await expect(holder.report()).rejects.toThrow("cut");
});

test("clients come back, also those that are refused at first, and are counted", async () => {
  let isFull = false;
  const { port, sockets } = serve(() => !isFull);
  const plan = { scripts: scripts(5), ports: [port], sources: ["127.0.2.1"], opening: 4, returns: true };
  await using holder = await Holder.start(plan);
  await holder.open(5);
  isFull = true;
  for (const socket of [...sockets].slice(0, 2)) socket.terminate();
  await until("both have tried", async () => (await holder.report()).failed >= 2);
  expect(await holder.report()).toMatchObject({ ready: 3, lost: 2 });
  isFull = false;
  const back = await holder.back();
  expect(back).toMatchObject({ ready: 5, lost: 2 });
  expect(back.backSeconds).toBeGreaterThan(0.2);
  expect(sockets.size).toBe(5);
  expect(await holder.forget()).toMatchObject({ ready: 5, lost: 0, failed: 0 });
});
