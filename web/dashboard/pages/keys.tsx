import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Keys = (_: { readonly at: PageParameters }) => <Page title="Keys" />;
