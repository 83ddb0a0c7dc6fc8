import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Channel = (_: { readonly at: PageParameters }) => <Page title="Channel" />;
