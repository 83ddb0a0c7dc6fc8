import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Key = (_: { readonly at: PageParameters }) => <Page title="Key" />;
