/** A service with rooms that browsers enter, for the tests of a file. */
import { afterAll, beforeAll, expect } from "bun:test";
import type { Browser } from "playwright-core";
import { Application } from "../../support/application.ts";
import { type Server, startParley } from "../../support/parley.ts";
import { launchChromium } from "./chromium.ts";
import { type Visit, Visitor } from "./visitor.ts";

/** Visitors have addresses of their own (X-Forwarded-For), and requests are not limited otherwise. */
const ENV = {
  PARLEY_TRUSTED_PROXIES: "127.0.0.1",
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  PARLEY_DEMO: "off",
};

export interface MeetingRooms {
  readonly server: Server;
  readonly app: Application;
  readonly browser: Browser;
  /** The address of a new room. */
  room(fields?: object): Promise<string>;
  token(url: string, fields?: object): Promise<string>;
  visit(url: string, visit?: Visit): Promise<Visitor>;
  /** Every visitor leaves, and none has a complaint. */
  allLeave(): Promise<void>;
}

export function meetingRooms(launch: () => Promise<Browser> = launchChromium): () => MeetingRooms {
  let rooms: MeetingRooms | undefined;
  beforeAll(async () => {
    const [server, browser] = await Promise.all([startParley({ env: ENV }), launch()]);
    const { _id, name, secretKey } = await server.admin.createApp("shop");
    rooms = roomsOf(server, new Application(server.url, name, secretKey, _id), browser);
  });
  afterAll(async () => {
    await rooms?.browser.close();
    await rooms?.server.stop();
  });
  return () => {
    if (!rooms) throw new Error("the service has not started");
    return rooms;
  };
}

function roomsOf(server: Server, app: Application, browser: Browser): MeetingRooms {
  const origin = `http://${app.host}`;
  let made = 0;
  let visitors: Visitor[] = [];
  return {
    server,
    app,
    browser,
    room: async (fields = {}) => {
      const roomName = `room-${++made}`;
      await app.must("POST", "/room", { roomName, ...fields });
      return `${origin}/${roomName}`;
    },
    token: async (url, fields = {}) => {
      const roomName = new URL(url).pathname.slice(1);
      return (await app.must<{ token: string }>("POST", "/token", { roomName, ...fields })).token;
    },
    visit: async (url, visit) => {
      const visitor = await Visitor.open(browser, visit);
      visitors.push(visitor);
      return visitor.goto(url);
    },
    allLeave: async () => {
      const left = visitors;
      visitors = [];
      await Promise.all(left.map((one) => one.close()));
      expect(left.flatMap(({ complaints }) => complaints)).toEqual([]);
    },
  };
}
