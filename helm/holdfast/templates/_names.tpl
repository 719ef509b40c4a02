{{/* Names and labels. A name of at most 40 characters leaves room for every suffix. */}}

{{- define "holdfast.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* A name that is cut ends with a digest: two long releases of one namespace stay two. */}}
{{- define "holdfast.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $own := include "holdfast.name" . -}}
{{- $name = ternary .Release.Name (printf "%s-%s" .Release.Name $own) (contains $own .Release.Name) -}}
{{- end -}}
{{- $name = replace "." "-" $name -}}
{{- if gt (len $name) 40 -}}
{{- $name = printf "%s-%s" ($name | trunc 31 | trimSuffix "-") ($name | sha256sum | trunc 8) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{- define "holdfast.selector" -}}
app.kubernetes.io/name: {{ include "holdfast.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end -}}

{{/* The labels of an object: (list ROOT COMPONENT). */}}
{{- define "holdfast.labels" -}}
{{- $root := index . 0 -}}
{{- $own := dict
    "app.kubernetes.io/name" (include "holdfast.name" $root)
    "app.kubernetes.io/instance" $root.Release.Name
    "app.kubernetes.io/component" (index . 1)
    "app.kubernetes.io/version" $root.Chart.AppVersion
    "app.kubernetes.io/managed-by" $root.Release.Service
    "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_") -}}
{{- toYaml (merge $own $root.Values.commonLabels) -}}
{{- end -}}

{{/* Labels of pods. The chart's version is not among them: pods stay when nothing else changes. */}}
{{- define "holdfast.podLabels" -}}
{{- $root := index . 0 -}}
{{- $own := dict
    "app.kubernetes.io/name" (include "holdfast.name" $root)
    "app.kubernetes.io/instance" $root.Release.Name
    "app.kubernetes.io/component" (index . 1)
    "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- toYaml (merge $own $root.Values.podLabels $root.Values.commonLabels) -}}
{{- end -}}

{{/* The metadata of an object: (dict "root" ROOT "name" NAME "component" COMPONENT "labels" MAP
     "annotations" MAP). The name is the suffix behind the full name. */}}
{{- define "holdfast.metadata" -}}
{{- $root := .root -}}
name: {{ include "holdfast.fullname" $root }}{{ .name }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "holdfast.labels" (list $root (.component | default "server")) | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (dict) (.annotations | default dict) $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "holdfast.serviceAccount" -}}
{{- $made := ternary (include "holdfast.fullname" .) "default" .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default $made -}}
{{- end -}}

{{- define "holdfast.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
