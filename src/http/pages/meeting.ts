/**
 * `/<roomName>` on an application's host: the page of a meeting. Its scripts find out everything else by the documented calls; the page
 * itself only depends on whether there is such a room, and on who may frame it.
 */
import { type AppId, asAppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { AppRow } from "../../store/contract/store.ts";
import { type AddressSettings, applicationOrigin } from "../request/application-address.ts";
import type { Call } from "../request/call.ts";
import { contentSecurityPolicy, type Fill, type PageServer } from "./pages.ts";

export interface MeetingPageParts {
  readonly pages: PageServer;
  readonly appNamed: (name: string) => FramedApp | undefined;
  /** Rejects with `room_not_found`. */
  readonly room: (app: AppId, roomName: string) => Promise<Pick<RoomRow, "fields">>;
  /** Addresses of STUN and TURN servers, for the check before entering; credentials are only for people inside. */
  readonly iceUrls?: () => readonly string[];
}

type FramedApp = Pick<AppRow, "id"> & { readonly allowedFrameOrigins?: readonly string[] };

/** Nothing but the page itself may use these; the frame that it is in must allow them too. */
const PERMISSIONS = ["camera", "microphone", "display-capture", "fullscreen"]
  .map((name) => `${name}=(self)`)
  .join(", ");

/** Stands for an unknown application: it has no rooms. */
const UNKNOWN_APP = asAppId("unknown");

export const meetingPage =
  ({ pages, appNamed, room, iceUrls = () => [] }: MeetingPageParts) =>
  async (call: Call): Promise<Response> => {
    const app = appNamed(call.target.app ?? "");
    // Also looked for without an application: the time that the answer takes says nothing either.
    const found = await ifFound(room(app?.id ?? UNKNOWN_APP, call.params.roomName ?? ""));
    // The same for every application, and for none: no one learns which exist, nor on whose pages their rooms are.
    if (!found)
      return pages.page("meeting", call, closed(call, NO_ROOM), { status: 404, headers: headersOf(call, []) });
    const framedBy = app?.allowedFrameOrigins ?? [];
    const headers = headersOf(call, framedBy);
    const { lang = "", expireUnixSec = "" } = found.fields;
    const values = { origins: framedBy.join(" "), ice: iceUrls().join(" "), lang, expires: expireUnixSec };
    const fill: Fill = (html) =>
      Object.entries(values).reduce(
        (text, [name, value]) => text.replace(`data-${name}=""`, () => `data-${name}="${escaped(String(value))}"`),
        html,
      );
    return pages.page("meeting", call, fill, { headers });
  };

/** `/<roomName>` on a host that is not an application's: says where rooms are, because the name of the application is easily left out. */
export const noApplicationPage =
  ({ pages, address }: { readonly pages: PageServer; readonly address: AddressSettings }) =>
  (call: Call): Response | Promise<Response> => {
    // The Host header has plain characters, and need not be a host.
    if (!URL.canParse(call.origin)) throw new Problem("not_found");
    // This is where browsers of others come, also if operators have an address of their own.
    const rooms = `${applicationOrigin("APP", { ...address, adminListen: "" }, call)}/NAME`;
    return pages.page("meeting", call, closed(call, NO_APPLICATION, escaped(rooms)), { status: 404 });
  };

async function ifFound<T>(room: Promise<T>): Promise<T | undefined> {
  try {
    return await room;
  } catch (error) {
    if (error instanceof Problem && error.code === "room_not_found") return undefined;
    throw error;
  }
}

function headersOf({ origin }: Call, framedBy: readonly string[]): Record<string, string> {
  const isFramed = framedBy.length > 0;
  // Written out besides 'self': older browsers do not count WebSockets of the page's own host among it.
  const connects = /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? [origin, origin.replace(/^http/, "ws")] : [];
  return {
    "Content-Security-Policy": contentSecurityPolicy({ connects, framedBy, hasWorkers: true }),
    "Permissions-Policy": PERMISSIONS,
    // It knows no origins: where some may frame the page, the policy alone decides.
    ...(!isFramed && { "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin" }),
  };
}

interface ClosedTexts {
  readonly title: string;
  readonly text: string;
}

type Language = "en" | "de" | "fr" | "es";
type Closed = Readonly<Record<Language, ClosedTexts>>;

/** In the languages of the page (web/meeting/texts). */
const NO_ROOM: Closed = {
  en: {
    title: "Room not found",
    text: "Check the link, or ask the person who sent it for a new one. No one can join archived rooms.",
  },
  de: {
    title: "Raum nicht gefunden",
    text: "Prüfen Sie den Link, oder bitten Sie die Person, die ihn geschickt hat, um einen neuen. In archivierten Räumen ist keine Teilnahme mehr möglich.",
  },
  fr: {
    title: "Salle introuvable",
    text: "Vérifiez le lien ou demandez-en un nouveau à la personne qui l’a envoyé. On ne peut plus entrer dans une salle archivée.",
  },
  es: {
    title: "Sala no encontrada",
    text: "Compruebe el enlace o pida uno nuevo a la persona que se lo envió. Ya no se puede entrar en las salas archivadas.",
  },
};

/** Followed by the address. */
const NO_APPLICATION: Closed = {
  en: { title: "Nothing found here", text: "You can find rooms at" },
  de: { title: "Hier gibt es nichts", text: "Räume finden Sie unter" },
  fr: { title: "Il n’y a rien ici", text: "Les salles se trouvent à l’adresse" },
  es: { title: "Aquí no hay nada", text: "Encontrará las salas en" },
};

const isLanguage = (tag: string): tag is Language => Object.hasOwn(NO_ROOM, tag);

/** The first language that the browser asks for and the page has. Browsers list them by preference. */
function languageOf({ request }: Call): Language {
  const header = (request.headers.get("accept-language") ?? "").slice(0, 200);
  const wanted = header.split(",").map((one) => one.trim().slice(0, 2).toLowerCase());
  return wanted.find(isLanguage) ?? "en";
}

/** As the menu of languages is called. */
const LANGUAGE: Readonly<Record<Language, string>> = { en: "Language", de: "Sprache", fr: "Langue", es: "Idioma" };

/** Complete without scripts: there is nothing to find out. The only one takes a token out of the address, and has the other languages. */
function closed(call: Call, texts: Closed, code = ""): Fill {
  const language = languageOf(call);
  const { title, text } = texts[language];
  const body = code === "" ? text : `${text} <code>${code}</code>.`;
  const all = Object.entries(texts).map(([tag, one]) => {
    const { [tag as Language]: language } = LANGUAGE;
    return [tag, { ...one, text: code === "" ? one.text : `${one.text} `, language }];
  });
  return (html) => {
    const [, script = ""] = /data-no-room="([^"]*)"/.exec(html) ?? [];
    return html
      .replace('lang="en"', `lang="${language}"`)
      .replace(/<script\b[^>]*><\/script>/g, "")
      .replace("<head>", `<head><script src="${script}"></script>`)
      .replace("<body", () => `<body data-closed="${escaped(JSON.stringify(Object.fromEntries(all)))}"`)
      .replace(/<title>[^<]*<\/title>/, `<title>${title}</title>`)
      .replace(
        '<div id="app"></div>',
        `<main class="closed"><div class="card closed-card"><h1>${title}</h1><p class="muted">${body}</p></div></main>`,
      )
      .replace(/<noscript>[\s\S]*?<\/noscript>/, "");
  };
}

const escaped = (text: string): string => text.replace(/[&"<>]/g, (one) => `&#${one.charCodeAt(0)};`);
