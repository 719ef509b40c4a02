{{/* What is shown after an install. The first line says what is insecure. */}}

{{- define "holdfast.notes" -}}
INSECURE: the servers have no TLS and no authentication yet (server.insecure: true). Every client that reaches the port can read and write every session{{ if not .Values.networkPolicy.enabled }}, and no NetworkPolicy restricts clients{{ end }}.
{{- $name := include "holdfast.fullname" . }}
{{- $port := int64 .Values.service.port }}

{{ if eq .Values.store.kind "postgres" -}}
{{ .Release.Name }} serves from PostgreSQL ({{ include "holdfast.databaseHosts" . }}), any server every session.
{{- if eq .Values.migration.mode "external" }}
The schema is yours to bring up to date: `holdfastd migrate` before each upgrade.
{{- end }}
{{- else -}}
{{ .Release.Name }} serves the files of one volume from one server: an upgrade is a pause of some seconds.
{{- end }}

Clients balance calls by themselves: target dns:///{{ $name }}-headless.{{ .Release.Namespace }}.svc:{{ $port }}, policy round_robin.
A service config with time limits and retries is protos/holdfast/v1/service_config.json of the repository.
{{- if .Values.networkPolicy.enabled }}
The NetworkPolicy admits {{ ternary "the peers of networkPolicy.callers" "pods of this namespace" (gt (len .Values.networkPolicy.callers) 0) }}.
{{- end }}

From your machine: kubectl -n {{ .Release.Namespace }} port-forward svc/{{ $name }} {{ $port }}:{{ $port }}
then: holdfast --address 127.0.0.1:{{ $port }} health
{{- if .Values.test.enabled }}
Does it serve: helm -n {{ .Release.Namespace }} test {{ .Release.Name }}
{{- end }}

The image {{ include "holdfast.image" . }} is built by scripts/image with the repository's Dockerfile; no registry has it unless you put it there.
{{- if and (lt (int64 (include "holdfast.preStop" .)) 1) (gt (int64 .Values.preStopSeconds) 0) }}
This Kubernetes is older than 1.30 and has no sleep action: a pod stops without a wait, and clients retry calls that still reach it.
{{- end }}
{{- end -}}
