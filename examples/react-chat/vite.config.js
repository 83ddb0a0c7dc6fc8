import { existsSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

if (!existsSync("node_modules/parley-client/dist"))
  throw new Error("parley-client is not built: run `npm run build:client` in the folder of Parley");

/** The backend answers under /api, on the same port as the pages. */
const backend = {
  name: "backend",
  async configureServer({ middlewares }) {
    const { backend: handler } = await import("./server.mjs");
    middlewares.use(handler);
  },
};

export default defineConfig({
  plugins: [react(), backend],
  server: { host: "127.0.0.1", port: Number(process.env.PORT ?? 5173) },
  // A linked parley-client must use the React of this folder.
  resolve: { dedupe: ["react"] },
});
