{{/* Names, namespaces, labels and images, as the real chart and its sub-charts make them. */}}

{{- define "kps.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The base of every object's name: 26 characters at most, so that the longest suffix still fits a label. */}}
{{- define "kps.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $own := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $own | trunc 26 | trimSuffix "-" -}}
{{- end -}}

{{- define "kps.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "kps.labels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.Version | quote }}
app.kubernetes.io/part-of: {{ include "kps.name" . }}
chart: {{ .Chart.Name }}-{{ .Chart.Version }}
release: {{ .Release.Name | quote }}
heritage: {{ .Release.Service | quote }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "kps.operatorLabels" -}}
{{ include "kps.labels" . }}
app: {{ include "kps.name" . }}-operator
app.kubernetes.io/name: {{ include "kps.name" . }}-prometheus-operator
app.kubernetes.io/component: prometheus-operator
{{- end -}}

{{- define "kps.webhookLabels" -}}
{{ include "kps.labels" . }}
app.kubernetes.io/name: {{ include "kps.name" . }}-prometheus-operator
app.kubernetes.io/component: prometheus-operator-webhook
{{- end -}}

{{/* (image values, root) */}}
{{- define "kps.image" -}}
{{- $image := index . 0 -}}{{- $root := index . 1 -}}
{{ $root.Values.global.imageRegistry | default $image.registry }}/{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end -}}

{{/* imagePullSecrets of a pod or a service account; empty without any. */}}
{{- define "kps.pullSecrets" -}}
{{- with .Values.global.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ if kindIs "map" . }}{{ .name }}{{ else }}{{ . }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Sub-charts are named after the release alone: (release name, chart name) */}}
{{- define "kps.subname" -}}
{{- $release := index . 0 -}}{{- $chart := index . 1 -}}
{{- ternary $release (printf "%s-%s" $release $chart) (contains $chart $release) | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "grafana.fullname" -}}
{{- $own := include "kps.subname" (list .Release.Name (.Values.grafana.nameOverride | default "grafana")) -}}
{{- .Values.grafana.fullnameOverride | default $own | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "grafana.namespace" -}}
{{- .Values.grafana.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "grafana.selector" -}}
app.kubernetes.io/name: {{ .Values.grafana.nameOverride | default "grafana" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "grafana.labels" -}}
helm.sh/chart: grafana-12.11.1
{{ include "grafana.selector" . }}
app.kubernetes.io/version: {{ .Values.grafana.image.tag | quote }}
{{- end -}}

{{/* Where the admin's name and password are. */}}
{{- define "grafana.adminSecret" -}}
{{- tpl .Values.grafana.admin.existingSecret . | default (include "grafana.fullname" .) -}}
{{- end -}}

{{/* The two exporters are sub-charts alike: (chart name, root) */}}
{{- define "exporter.selector" -}}
{{- $chart := index . 0 -}}{{- $root := index . 1 -}}
app.kubernetes.io/name: {{ $chart }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- end -}}

{{/* (chart name, chart version, root) */}}
{{- define "exporter.labels" -}}
{{- $chart := index . 0 -}}{{- $version := index . 1 -}}{{- $root := index . 2 -}}
helm.sh/chart: {{ $chart }}-{{ $version }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/component: metrics
app.kubernetes.io/part-of: {{ $chart }}
{{ include "exporter.selector" (list $chart $root) }}
app.kubernetes.io/version: {{ regexFind "[0-9.]+" (index $root.Values $chart).image.tag | quote }}
release: {{ $root.Release.Name }}
{{- end -}}

{{- define "exporter.namespace" -}}
{{- $chart := index . 0 -}}{{- $root := index . 1 -}}
{{- (index $root.Values $chart).namespaceOverride | default $root.Release.Namespace -}}
{{- end -}}
