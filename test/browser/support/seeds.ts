/** An application as a small shop would have it: keys, clients, a room with a recording, an operator. */
import { afterAll } from "bun:test";
import type { Browser } from "playwright-core";
import { World } from "../../conformance/raw/support/world.ts";
import type { Key } from "../../support/admin.ts";
import { Application } from "../../support/application.ts";
import { type Options, type Server, startParley } from "../../support/parley.ts";
import { Backend } from "../../support/recordings.ts";

/** Tests share one address, and connect often. */
export const NO_LIMITS = { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0", PARLEY_REST_REQUESTS_PER_SECOND: "0" };

export async function dashboardServer(options: Options = {}): Promise<Server> {
  const server = await startParley({ ...options, env: { ...NO_LIMITS, PARLEY_DEMO: "off", ...options.env } });
  afterAll(() => server.stop());
  return server;
}

export interface Shop {
  readonly world: World;
  readonly name: string;
  readonly backend: Backend;
  readonly publishable: Key;
}

/** An application with a publishable key and a secret one. */
export async function newShop(server: Server, name: string): Promise<Shop> {
  const app = await server.admin.createApp(name);
  const key = await server.admin.createKey(app._id, { label: "Backend" });
  const publishable = await server.admin.createPublishable(app._id, {
    label: "Web shop",
    channelPatterns: ["chat/*", "orders/**"],
    allowedOrigins: ["https://shop.example.com"],
  });
  const backend = new Backend(new Application(server.url, name, app.secretKey, app._id));
  return { world: new World(server, app, key), name, backend, publishable };
}

/** A short video as a browser records it. */
export async function recordedVideo(browser: Browser): Promise<Uint8Array> {
  const page = await browser.newPage();
  try {
    const encoded = await page.evaluate<string>(`new Promise((resolve) => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [64, 48];
      const brush = canvas.getContext("2d");
      let frames = 0;
      const painting = setInterval(() => {
        brush.fillStyle = "hsl(" + frames++ * 20 + " 60% 50%)";
        brush.fillRect(0, 0, 64, 48);
        if (frames === 20) recorder.stop();
      }, 30);
      const recorder = new MediaRecorder(canvas.captureStream(), { mimeType: "video/webm;codecs=vp8" });
      const parts = [];
      recorder.ondataavailable = ({ data }) => parts.push(data);
      recorder.onstop = () => {
        clearInterval(painting);
        const reader = new FileReader();
        reader.onload = () => resolve(reader.result.split(",")[1]);
        reader.readAsDataURL(new Blob(parts));
      };
      recorder.start();
    })`);
    return Buffer.from(encoded, "base64");
  } finally {
    await page.close();
  }
}
