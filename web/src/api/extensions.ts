import { keepPreviousData, queryOptions, useMutation, useQuery } from "@tanstack/preact-query";
import { cache, inOrganization } from "./cache";
import { request, type Schemas } from "./client";

export type Extension = Schemas["Extension"];
export type ListedExtension = Schemas["ListedExtension"];
export type ExtensionVariable = Schemas["ExtensionVariable"];
export type ExtensionPlan = Schemas["ExtensionPlan"];
export type RunExtension = Schemas["RunExtension"];
export type ExtensionChange = Schemas["ExtensionChange"];
export type ParentOffer = Schemas["ParentOffer"];
export type TakeOffer = Schemas["TakeOffer"];

export interface ExtensionFilter {
  search?: string;
  category?: string;
  type?: string;
  page?: number;
}

const PAGE_SIZE = 24;

export function useExtensions(filter: ExtensionFilter) {
  return useQuery({
    queryKey: inOrganization("extensions", filter),
    queryFn: ({ signal }) =>
      request("get", "/extensions", {
        query: { ...filter, page_size: PAGE_SIZE, sort_by: "name", sort_direction: "asc" },
        signal,
      }),
    placeholderData: keepPreviousData,
  });
}

/** The names of the first hundred, for lists that tell only ids. */
export const useExtensionNames = () =>
  useQuery({
    queryKey: inOrganization("extensions", "names"),
    queryFn: ({ signal }) => request("get", "/extensions", { query: { page_size: 100, sort_by: "name" }, signal }),
    select: ({ extensions }) => new Map(extensions.map((extension) => [extension.id, extension])),
  });

export const useCategories = () =>
  useQuery({
    queryKey: inOrganization("extensions", "categories"),
    queryFn: ({ signal }) => request("get", "/extensions/categories", { signal }),
  });

/** `key` is what people call it by, or its id. */
export const extensionQuery = (key: string) =>
  queryOptions({
    queryKey: inOrganization("extension", key),
    queryFn: ({ signal }) => request("get", "/extensions/{extension_id}", { path: { extension_id: key }, signal }),
  });

export const useExtension = (key: string, enabled = true) => useQuery({ ...extensionQuery(key), enabled });

/** What running it would do. The server checks the values, and changes nothing. */
export function usePlan(extension: Extension, body: RunExtension, enabled = true) {
  return useQuery({
    queryKey: inOrganization("plan", extension.id, extension.content_hash, body),
    queryFn: ({ signal }) =>
      request("post", "/extensions/{extension_id}/plan", { path: { extension_id: extension.id }, body, signal }),
    placeholderData: keepPreviousData,
    // What is typed must not stay in memory for long: secrets are among it.
    gcTime: 0,
    retry: false,
    enabled,
  });
}

/** How far a fork is behind the one that it was forked from. */
export const useParentOffer = ({ id, content_hash }: Extension) =>
  useQuery({
    queryKey: inOrganization("parent-offer", id, content_hash),
    queryFn: ({ signal }) =>
      request("get", "/extensions/{extension_id}/parent", { path: { extension_id: id }, signal }),
  });

function forgetLists(): void {
  cache.invalidateQueries({ queryKey: inOrganization("extensions") });
}

/** The answer of a change is what is shown from then on, under each of its names. */
function keep(extension: Extension): void {
  for (const key of [extension.id, extension.extension_id]) {
    cache.setQueryData(extensionQuery(key).queryKey, extension);
  }
  forgetLists();
}

export const useCreateExtension = () =>
  useMutation({
    mutationFn: (body: Schemas["CreateExtension"]) => request("post", "/extensions", { body }),
    onSuccess: keep,
  });

export const useUpdateExtension = (id: string) =>
  useMutation({
    mutationFn: (body: Schemas["UpdateExtension"]) =>
      request("put", "/extensions/{extension_id}", { path: { extension_id: id }, body }),
    onSuccess: keep,
  });

export const useForkExtension = (id: string) =>
  useMutation({
    mutationFn: () => request("post", "/extensions/{extension_id}/fork", { path: { extension_id: id }, body: {} }),
    onSuccess: keep,
  });

export const useTakeParentOffer = (id: string) =>
  useMutation({
    mutationFn: (body: TakeOffer) =>
      request("post", "/extensions/{extension_id}/parent", { path: { extension_id: id }, body }),
    onSuccess: keep,
  });

export const useDeleteExtension = (id: string) =>
  useMutation({
    mutationFn: () => request("delete", "/extensions/{extension_id}", { path: { extension_id: id } }),
    onSuccess: forgetLists,
  });
