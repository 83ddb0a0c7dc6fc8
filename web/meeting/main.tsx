/** Starts the page of a meeting: what its address carries, its language, and the real connections. */
import { effect } from "@preact/signals";
import { render } from "preact";
import { keepFocus } from "../focus/focus.ts";
import * as devices from "./call/devices.ts";
import { makeMesh } from "./call/mesh.ts";
import { roomNameIn, takeFromAddress } from "./page/address.ts";
import { apiOf } from "./page/api.ts";
import { framingOf } from "./page/frame.ts";
import { kept } from "./page/storage.ts";
import { warnWhilePending } from "./recording/leaving.ts";
import { observeLater } from "./recording/observe-later.ts";
import { hasRuns } from "./recording/opfs.ts";
import { startRecorder } from "./recording/recorder.ts";
import { UploadWorkerClient } from "./recording/upload-worker-client.ts";
import { openLobby } from "./room/lobby.ts";
import { openRoom } from "./room/room.ts";
import { OwnMedia } from "./session/own-media.ts";
import { postRecording, postStages } from "./session/stage-events.ts";
import { speak } from "./texts/loading.ts";
import { chosenLanguage, t } from "./texts/texts.ts";
import { App } from "./ui/app.tsx";
import { Visit } from "./visit/visit.ts";

const carried = takeFromAddress();
const roomName = roomNameIn(location.pathname);
const { origins = "", lang = "", ice = "", expires = "", uploads: worker = "", observer = "" } = document.body.dataset;
const listed = (text: string): string[] => text.split(" ").filter((one) => one !== "");

const framing = framingOf(window, listed(origins), roomName);
const uploads = new UploadWorkerClient({ makeWorker: () => new Worker(worker, { type: "module" }), hasRuns });
const visit = new Visit({
  roomName,
  api: apiOf(location.origin, roomName),
  media: new OwnMedia(devices),
  openRoom,
  openLobby,
  makeEngine: makeMesh,
  uploads,
  startRecorder,
  observe: observeLater(observer),
  token: carried.token,
  isFramed: framing.isFramed,
  expiresAt: Number(expires) || undefined,
  defaultName: (isHost) => t(isHost ? "defaultHostName" : "defaultName"),
});
visit.session.iceServers.value = listed(ice).map((urls) => ({ urls }));
effect(postStages(visit.session, framing));
effect(postRecording(visit.session, framing));
effect(warnWhilePending(uploads, window));
uploads.resume();

// In English if the texts cannot be loaded: the menu is there to try again.
await speak(chosenLanguage([kept("local", "language") ?? "", lang, ...navigator.languages]));
const root = document.getElementById("app");
keepFocus();
if (root) {
  render(<App visit={visit} />, root);
  void visit.start(carried.name ?? kept("local", "name") ?? "");
}
