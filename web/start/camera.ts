/** The camera of this tab, which both of its people may show at once: it is asked for and opened only once. */
const SIZE = { width: 640, height: 480 } as const;

class Camera {
  private source: Promise<MediaStreamTrack> | undefined;
  private users = 0;

  /** Each call needs a `giveBack`, also after a failure. */
  async borrow(): Promise<MediaStreamTrack> {
    this.users++;
    this.source ??= open();
    return (await this.source).clone();
  }

  giveBack(track?: MediaStreamTrack): void {
    track?.stop();
    if (--this.users > 0) return;
    this.source?.then((source) => source.stop()).catch(() => undefined);
    this.source = undefined;
  }
}

export const camera = new Camera();

async function open(): Promise<MediaStreamTrack> {
  if (!navigator.mediaDevices) throw new Error("browsers allow it only on https and localhost");
  const [track] = (await navigator.mediaDevices.getUserMedia({ video: SIZE })).getVideoTracks();
  if (!track) throw new Error("there is none");
  return track;
}
